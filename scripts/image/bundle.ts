/** Builds the bundle in folders of its own, so that nobody's dist/ is touched. */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "./execute.ts";

const root = join(import.meta.dirname, "../..");

/** Copies what the image is built from: somebody may be at work on it meanwhile. */
export function copySources(): string {
  const folder = mkdtempSync(join(tmpdir(), "iam-operator-sources-"));
  const wanted = ["package.json", "package-lock.json", "LICENSE", "src", "scripts"];
  for (const name of [...wanted, "Dockerfile", ".dockerignore"])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  return folder;
}

/** Builds the bundle and its SBOM from a copy of `sources`. Answers the copy, whose dist/ has both. */
export async function buildBundle(sources: string): Promise<string> {
  const copy = mkdtempSync(join(tmpdir(), "iam-operator-bundle-"));
  cpSync(sources, copy, { recursive: true });
  await copyModules(join(copy, "node_modules"));
  await run(process.execPath, ["scripts/build.ts", "--operator-only"], { cwd: copy });
  await run(process.execPath, ["scripts/image/sbom.ts", "dist/sbom.cdx.json"], { cwd: copy });
  return copy;
}

/**
 * A symbolic link would not do: esbuild follows it, and orders files by where they are. Caches stay behind: other tests
 * write into them meanwhile.
 */
async function copyModules(into: string): Promise<void> {
  const from = join(root, "node_modules");
  const isInstalled = (name: string) => name === ".bin" || !name.startsWith(".");
  const packages = readdirSync(from).filter(isInstalled);
  const paths = packages.map((name) => join(from, name));
  mkdirSync(into);
  await run("cp", ["-al", ...paths, into]).catch(() => run("cp", ["-a", ...paths, into]));
}

/** One hash over all code and the SBOM in a folder. */
export function hashOf(folder: string): string {
  const hash = createHash("sha256");
  for (const name of readdirSync(folder).sort())
    if (/\.mjs$|\.json$/.test(name)) hash.update(name).update(readFileSync(join(folder, name)));
  return hash.digest("hex");
}
