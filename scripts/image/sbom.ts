/**
 * Writes what is in the bundle as a CycloneDX document: every npm package of which dist/ contains code, with the
 * checksum of package-lock.json. The same sources give the same bytes. usage: node sbom.ts FILE
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly license?: string;
}

interface Package {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

const read = <T>(file: string): T => JSON.parse(readFileSync(join(root, file), "utf8")) as T;

/** Folders such as node_modules/a/node_modules/@b/c, from the source maps. */
function bundledFolders(dist: string): readonly string[] {
  const folders = readdirSync(dist)
    .filter((name) => name.endsWith(".map"))
    .flatMap((name) => read<{ sources: string[] }>(join("dist", name)).sources)
    .map((source) => /^.*?((?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+)/.exec(`${source}`)?.[1])
    .filter((folder) => folder !== undefined);
  return [...new Set(folders.map((folder) => folder.replace(/\/$/, "")))].sort();
}

function component(folder: string, { version, integrity, license }: LockedPackage) {
  const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const [algorithm, digest] = integrity?.split("-") ?? [];
  const content = digest && Buffer.from(digest, "base64").toString("hex");
  return {
    "bom-ref": purl,
    type: "library",
    name,
    version,
    purl,
    ...(license ? { licenses: [licenseOf(license)] } : {}),
    ...(algorithm === "sha512" && content ? { hashes: [{ alg: "SHA-512", content }] } : {}),
  };
}

/** An SPDX expression such as "(MIT OR CC0-1.0)" has a field of its own. */
function licenseOf(license: string) {
  return license.includes(" ") ? { expression: license } : { license: { id: license } };
}

function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-");
}

const locked = read<{ packages: Record<string, LockedPackage> }>("package-lock.json").packages;
const { name, version, license } = read<Package>("package.json");
const components = bundledFolders(join(root, "dist")).map((folder) => {
  const entry = locked[folder];
  if (entry === undefined)
    throw new Error(`${folder} is in the bundle and not in package-lock.json`);
  return component(folder, entry);
});
if (components.length === 0) throw new Error("dist/ has no source maps; build it first");
const text = JSON.stringify(components);
const [file] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: node sbom.ts FILE");
const document = {
  $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
  bomFormat: "CycloneDX",
  specVersion: "1.6",
  serialNumber: `urn:uuid:${uuidOf(`${name}@${version} ${text}`)}`,
  version: 1,
  metadata: {
    lifecycles: [{ phase: "build" }],
    component: {
      "bom-ref": `pkg:npm/${name}@${version}`,
      type: "application",
      name,
      version,
      purl: `pkg:npm/${name}@${version}`,
      licenses: [licenseOf(license)],
    },
  },
  components,
  dependencies: [
    { ref: `pkg:npm/${name}@${version}`, dependsOn: components.map(({ purl }) => purl) },
  ],
};
writeFileSync(file, `${JSON.stringify(document, null, 2)}\n`);
