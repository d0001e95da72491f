/** What a release consists of, made from a copy of the project that has a version to release. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { findHelm, runHelm } from "../../scripts/chart/helm.ts";

const root = join(import.meta.dirname, "../..");
const copy = mkdtempSync(join(tmpdir(), "iam-operator-release-"));
const output = join(copy, "dist/release");
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const image = "images.example.com/iam-operator";
const digest = `sha256:${"a".repeat(64)}`;

const release = (...args: readonly string[]) =>
  execFileSync(process.execPath, ["scripts/release.ts", ...args], { cwd: copy, stdio: "pipe" });
const read = (name: string) => readFileSync(join(output, name), "utf8");

beforeAll(() => {
  for (const name of [
    "src",
    "scripts",
    "charts",
    "crds",
    "deploy",
    "docs",
    "package.json",
    "package-lock.json",
    "LICENSE",
  ])
    cpSync(join(root, name), join(copy, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  writeFileSync(
    join(copy, "CHANGELOG.md"),
    `# Changelog\n\n## ${version}\n\n- All of it.\n\n## 0.0.1\n\n- Less.\n`,
  );
  release("build", `v${version}`, image, digest);
});
afterAll(() => rmSync(copy, { recursive: true }));

test("the chart carries the released image", async () => {
  const archive = join(output, `iam-operator-${version}.tgz`);
  const { stdout } = await runHelm(await findHelm(), ["show", "values", archive]);
  expect(parse(stdout).image).toMatchObject({ repository: image, digest });
});

test("install.yaml is the whole installation, without what only helm needs", () => {
  const objects = parseAllDocuments(read("install.yaml"))
    .map((document) => document.toJS())
    .filter((object) => object !== null);
  const kinds = objects.map(({ kind }) => kind);
  expect(kinds[0]).toBe("Namespace");
  expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(6);
  const deployment = objects.find(({ kind }) => kind === "Deployment");
  expect(deployment.spec.template.spec.containers[0].image).toBe(`${image}@${digest}`);
  expect(read("install.yaml")).not.toContain("helm.sh/hook");
});

test("every file has its checksum, and the SBOM is among them", () => {
  const sums = read("SHA256SUMS")
    .trimEnd()
    .split("\n")
    .map((line) => line.split("  "));
  const files = readdirSync(output).filter((name) => name !== "SHA256SUMS");
  expect(sums.map(([, name]) => name)).toEqual(files.toSorted());
  expect(files).toContain("sbom.cdx.json");
  for (const [hash, name = ""] of sums)
    expect(
      createHash("sha256")
        .update(readFileSync(join(output, name)))
        .digest("hex"),
    ).toBe(hash);
});

test("the notes are the version's part of the changelog", () => {
  expect(readFileSync(join(copy, "dist/notes.md"), "utf8")).toBe("- All of it.\n");
});

test("a tag of another version is refused", () => {
  expect(() => release("check", "v9.9.9")).toThrow(`package.json says ${version}`);
});

test("a version without a part of the changelog is refused", () => {
  writeFileSync(join(copy, "CHANGELOG.md"), "# Changelog\n\n## Unreleased\n");
  expect(() => release("check", `v${version}`)).toThrow(`has no section "## ${version}"`);
});
