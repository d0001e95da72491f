import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const folders: string[] = [];

/** Builds copies of the sources, so that nobody's dist/ is touched. */
async function build(sources: string): Promise<string> {
  const copy = mkdtempSync(join(tmpdir(), "iam-operator-bundle-"));
  folders.push(copy);
  cpSync(sources, copy, { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  await run(process.execPath, ["scripts/build.ts"], { cwd: copy });
  await run(process.execPath, ["scripts/image/sbom.ts", "dist/sbom.cdx.json"], { cwd: copy });
  return join(copy, "dist");
}

function hashes(dist: string): Readonly<Record<string, string>> {
  const files = readdirSync(dist).filter((name) => !name.endsWith(".map"));
  const hash = (name: string) =>
    createHash("sha256")
      .update(readFileSync(join(dist, name)))
      .digest("hex");
  return Object.fromEntries(files.map((name) => [name, hash(name)]));
}

let first = "";
let second = "";

beforeAll(async () => {
  const sources = mkdtempSync(join(tmpdir(), "iam-operator-sources-"));
  folders.push(sources);
  for (const name of ["package.json", "package-lock.json", "src", "scripts"])
    cpSync(join(root, name), join(sources, name), { recursive: true });
  [first, second] = [await build(sources), await build(sources)];
}, 180_000);

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

describe("the bundle", () => {
  test("has the same bytes when it is built again in another folder, and so has its SBOM", () => {
    expect(hashes(second)).toEqual(hashes(first));
    expect(Object.keys(hashes(first))).toContain("iam-operator.mjs");
  });

  test("says its version without anything beside it", async () => {
    const { stdout } = await run(process.execPath, [join(first, "iam-operator.mjs"), "--version"]);
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(stdout).toBe(`iam-operator ${version}\n`);
  });
});

describe("the SBOM", () => {
  const read = () =>
    JSON.parse(readFileSync(join(first, "sbom.cdx.json"), "utf8")) as {
      bomFormat: string;
      components: Component[];
    };

  test("names every dependency of package.json with its exact version", () => {
    const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      dependencies: Record<string, string>;
    };
    const listed = new Map(read().components.map(({ name, version }) => [name, version]));
    for (const [name, version] of Object.entries(dependencies))
      expect([name, listed.get(name)]).toEqual([name, version]);
  });

  test("names no tool of the development", () => {
    const names = read().components.map(({ name }) => name);
    for (const tool of ["typescript", "vitest", "esbuild", "node"])
      expect(names).not.toContain(tool);
  });

  test("names every package once", () => {
    const { bomFormat, components } = read();
    const purls = components.map(({ purl }) => purl);
    expect(bomFormat).toBe("CycloneDX");
    expect(new Set(purls).size).toBe(purls.length);
  });
});
