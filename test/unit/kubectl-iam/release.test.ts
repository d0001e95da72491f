/** What a release of the plugin is made of. */
import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { build, transformSync } from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin } from "../../../scripts/build-plugin.ts";
import { bundleOptions } from "../../../scripts/bundle-options.ts";
import { toKrewManifest } from "../../../scripts/krew-manifest.ts";
import { packPlugin } from "../../../scripts/plugin-archive.ts";
import { version } from "../../../src/app/version.ts";

const folder = mkdtempSync(join(tmpdir(), "kubectl-iam-release-"));
const run = promisify(execFile);

beforeAll(() => buildPlugin(folder));
afterAll(() => rmSync(folder, { recursive: true }));

test("it runs through a symbolic link, as krew and npm create it, with only its own folder", async () => {
  const link = join(folder, "kubectl-iam");
  symlinkSync(join(folder, "kubectl-iam.mjs"), link);
  const { stdout } = await run(process.execPath, [link, "version"]);
  expect(stdout).toBe(`kubectl-iam ${version}\n`);
  const explained = await run(process.execPath, [link, "explain", "KeyOrphaned"]);
  expect(explained.stdout).toContain("its secret was lost");
});

test("a start reads little: the code of a command, of zod and of the clients comes when it is needed", () => {
  const read = new Set<string>();
  const follow = (name: string) => {
    if (read.has(name)) return;
    read.add(name);
    const text = readFileSync(join(folder, name), "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) follow(next);
  };
  for (const part of [/^kubectl-iam\.mjs$/, /^start-.*\.mjs$/, /^main-.*\.mjs$/])
    follow(readdirSync(folder).find((name) => part.test(name)) ?? "");
  const bytes = [...read].reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
  expect(bytes).toBeLessThan(120_000);
});

test("krew installs the archive: it moves all files to the plugin's folder, and links bin from there", async () => {
  const archive = join(folder, "../", `${basename(folder)}.tar.gz`);
  packPlugin(folder, archive);
  const manifest = toKrewManifest({
    bytes: readFileSync(archive),
    uri: "https://x/a.tar.gz",
    homepage: "https://x",
  }) as KrewManifest;
  const [platform] = manifest.spec.platforms;
  const unpacked = mkdtempSync(join(tmpdir(), "krew-download-"));
  const home = mkdtempSync(join(tmpdir(), "krew-"));
  const store = join(home, "store", manifest.metadata.name, manifest.spec.version);
  mkdirSync(store, { recursive: true });
  try {
    await run("tar", ["-xzf", archive, "-C", unpacked]);
    // Without `files` in the manifest: { from: "*", to: "." }
    for (const name of readdirSync(unpacked)) renameSync(join(unpacked, name), join(store, name));
    const bin = join(store, platform?.bin ?? "");
    expect(statSync(bin).isFile()).toBe(true);
    const link = join(home, `kubectl-${manifest.metadata.name.replaceAll("-", "_")}`);
    symlinkSync(bin, link);
    const path = { PATH: [dirname(process.execPath), process.env.PATH].join(delimiter) };
    expect((await run(link, ["version"], { env: path })).stdout).toMatch(/^kubectl-iam /);
    const { stdout } = await run(link, ["explain", "NotSeen"], { env: path }).catch(
      (error) => error,
    );
    expect(stdout).not.toContain("kubectl iam ");
    const help = await run(link, ["status", "--help"], { env: path });
    expect(help.stdout).toContain("kubectl iam-operator status -A");
    expect(help.stdout).not.toContain("kubectl iam ");
    // What krew's index checks of a name.
    expect(manifest.metadata.name).toMatch(/^[\w-]+$/);
    expect(manifest.metadata.name).not.toMatch(/^(kubectl|kube)-/);
  } finally {
    for (const made of [unpacked, home, archive]) rmSync(made, { recursive: true });
  }
});

interface KrewManifest {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly version: string;
    readonly platforms: readonly { readonly bin: string }[];
  };
}

/** The oldest Node that runs the tasks of this project; absent where there is no other Node than the package's. */
const oldNode = ["/usr/bin/node", "/usr/local/bin/node"].find(
  (file) => existsSync(file) && majorOf(file) < 24,
);
function majorOf(file: string): number {
  return Number(/^v(\d+)/.exec(execFileSync(file, ["--version"], { encoding: "utf8" }))?.[1]);
}

test.each(["kubectl-iam.mjs", "iam-operator.mjs"])(
  "the entry %s holds nothing that an older Node cannot read",
  async (name) => {
    const operator = join(folder, "operator");
    await build({
      ...bundleOptions,
      entryPoints: { "iam-operator": "src/main.ts" },
      outdir: operator,
      minify: true,
    });
    const file = join(name === "iam-operator.mjs" ? operator : folder, name);
    const text = readFileSync(file, "utf8");
    expect(text.length).toBeLessThan(1_500);
    // The only static import is that of the banner, which Node 12 has.
    expect(
      [...text.matchAll(/^import|;import\{|from"([^"]+)"/g)]
        .map(([, from]) => from)
        .filter(Boolean),
    ).toEqual(["node:module"]);
    expect(() => transformSync(text, { format: "esm", target: "es2022" })).not.toThrow();
    expect(transformSync(text, { format: "esm", target: "es2022", minify: true }).code).not.toMatch(
      /\busing\b/,
    );
    if (oldNode === undefined) return;
    const ended = await run(oldNode, [file, "--version"]).catch((error) => error);
    expect(ended).toMatchObject({ code: name === "kubectl-iam.mjs" ? 3 : 1, stdout: "" });
    expect(ended.stderr).toMatch(
      /^(kubectl-iam|iam-operator) needs Node 24 or later; this is Node [\d.]+\n$/,
    );
  },
);

test("the krew manifest names the archive and its hash for every system", () => {
  const archive = {
    bytes: Buffer.from("archive"),
    uri: "https://x/a.tar.gz",
    homepage: "https://x",
  };
  expect(toKrewManifest(archive)).toMatchObject({
    metadata: { name: "iam-operator" },
    spec: {
      version: `v${version}`,
      platforms: ["linux", "darwin"].map((os) => ({
        selector: { matchLabels: { os } },
        uri: archive.uri,
        sha256: "0eb3e36bfb24dcd9bb1d1bece1531216b59539a8fde17ee80224af0653c92aa3",
        bin: "kubectl-iam.mjs",
      })),
    },
  });
});
