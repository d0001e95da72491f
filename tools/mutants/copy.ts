/** A copy of the repository's sources, in which one file at a time is another. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Mutated } from "./sources.ts";

const COPIED = [
  "src",
  "test",
  "tools",
  "crds",
  "charts",
  "deploy",
  "docs",
  "scripts",
  "package.json",
  "vitest.config.ts",
  "tsconfig.json",
];

export class Copy implements Disposable {
  readonly root: string;

  constructor(original: string) {
    this.root = mkdtempSync(join(tmpdir(), "mutants-"));
    for (const name of COPIED)
      cpSync(join(original, name), join(this.root, name), { recursive: true });
    symlinkSync(join(original, "node_modules"), join(this.root, "node_modules"));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }

  /** Calls `changed` after each change of the file, and returns what `act` returns. */
  async with<T>(
    { file, text }: Mutated,
    act: () => Promise<T>,
    changed: (path: string) => void = () => undefined,
  ): Promise<T> {
    const path = join(this.root, file);
    const original = readFileSync(path, "utf8");
    const write = (content: string) => {
      writeFileSync(path, content);
      changed(path);
    };
    write(text);
    try {
      return await act();
    } finally {
      write(original);
    }
  }
}
