/**
 * What a release consists of, beside its image.
 *
 *   check TAG                the tag, package.json and CHANGELOG.md agree
 *   build TAG IMAGE DIGEST   also writes dist/release/ (chart, install.yaml, kubectl plugin, krew manifest, SBOM, checksums) and
 *                            dist/notes.md
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { CHART, findHelm, NAMESPACE, renderChart, runHelm } from "./chart/helm.ts";
import { KREW_NAME, toKrewManifest } from "./krew-manifest.ts";
import { packPlugin } from "./plugin-archive.ts";

const root = join(import.meta.dirname, "..");
const dist = join(root, "dist");
const output = join(dist, "release");

const [command, tag = "", image = "", digest = ""] = process.argv.slice(2);
const notes = check(tag);
if (command === "build") await build();
else if (command !== "check")
  throw new Error("usage: release.ts check TAG | build TAG IMAGE DIGEST");

/** The changelog's section of the version. Throws where a version is not the tag's, or has no section. */
function check(name: string): string {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  if (name !== `v${version}`)
    throw new Error(`the tag is ${name}, and package.json says ${version}`);
  const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const section = changelog.split(/^## /m).find((part) => part.startsWith(`${version}\n`));
  if (section === undefined) throw new Error(`CHANGELOG.md has no section "## ${version}"`);
  return section.slice(version.length).trim();
}

async function build(): Promise<void> {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`no digest of an image: ${digest}`);
  execFileSync(process.execPath, ["scripts/build.ts"], { cwd: root, stdio: "inherit" });
  rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  const helm = await findHelm();
  await packageChart(helm);
  await writeManifest(helm);
  bundlePlugin();
  execFileSync(process.execPath, ["scripts/image/sbom.ts", join(output, "sbom.cdx.json")], {
    cwd: root,
  });
  writeFileSync(join(output, "SHA256SUMS"), checksums());
  writeFileSync(join(dist, "notes.md"), `${notes}\n`);
}

/** The chart as it is, but with the released image as its default. */
async function packageChart(helm: string): Promise<void> {
  const copy = join(dist, "chart");
  execFileSync("cp", ["-R", CHART, copy]);
  const values = join(copy, "values.yaml");
  const text = readFileSync(values, "utf8");
  const released = text
    .replace("\n  repository: iam-operator\n", `\n  repository: ${image}\n`)
    .replace('\n  digest: ""\n', `\n  digest: ${digest}\n`);
  if (!released.includes(image) || !released.includes(digest))
    throw new Error("values.yaml has no place for the image");
  writeFileSync(values, released);
  const { code, stderr } = await runHelm(helm, ["package", copy, `--destination=${output}`]);
  rmSync(copy, { recursive: true });
  if (code !== 0) throw new Error(stderr);
}

/** Everything for `kubectl apply --server-side -f`, its namespace included. */
async function writeManifest(helm: string): Promise<void> {
  const set = `--set=image.repository=${image},image.digest=${digest}`;
  const rendered = await renderChart(helm, { args: ["--skip-tests", set] });
  const namespace = readFileSync(join(root, "deploy/namespace.yaml"), "utf8");
  if (!namespace.includes(`name: ${NAMESPACE}\n`))
    throw new Error("deploy/ is for another namespace");
  writeFileSync(join(output, "install.yaml"), `${namespace}---\n${rendered}`);
}

/** The plugin runs on any system with Node 24, so there is one archive, with a manifest by which krew installs it. */
function bundlePlugin(): void {
  const folder = join(dist, "kubectl-iam");
  if (!existsSync(folder)) return;
  const name = `kubectl-iam-${tag}.tar.gz`;
  packPlugin(folder, join(output, name));
  const { homepage } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const manifest = toKrewManifest({
    bytes: readFileSync(join(output, name)),
    uri: `${homepage}/releases/download/${tag}/${name}`,
    homepage,
  });
  writeFileSync(join(output, `${KREW_NAME}.yaml`), stringify(manifest));
}

function checksums(): string {
  const line = (name: string) => {
    const hash = createHash("sha256").update(readFileSync(join(output, name)));
    return `${hash.digest("hex")}  ${name}\n`;
  };
  return readdirSync(output).toSorted().map(line).join("");
}
