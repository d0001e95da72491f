import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildBundle, copySources } from "../../scripts/image/bundle.ts";

const root = join(import.meta.dirname, "../..");
const run = promisify(execFile);
const folders: string[] = [];

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
  const sources = copySources();
  folders.push(sources);
  for (const _ of [1, 2]) folders.push(await buildBundle(sources));
  [first, second] = folders.slice(1).map((folder) => join(folder, "dist")) as [string, string];
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
    // The command-line library is the kubectl plugin's alone.
    const { commander: _, ...ofTheOperator } = dependencies;
    for (const [name, version] of Object.entries(ofTheOperator))
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
