/** What a release of the plugin is made of. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin } from "../../../scripts/build-plugin.ts";
import { toKrewManifest } from "../../../scripts/krew-manifest.ts";
import { version } from "../../../src/app/version.ts";

const folder = mkdtempSync(join(tmpdir(), "kubectl-iam-release-"));
const run = promisify(execFile);

beforeAll(() => buildPlugin(folder));
afterAll(() => rmSync(folder, { recursive: true }));

test("it runs by a link, as krew and npm make one, with nothing beside it but its folder", async () => {
  const link = join(folder, "kubectl-iam");
  symlinkSync(join(folder, "kubectl-iam.mjs"), link);
  const { stdout } = await run(process.execPath, [link, "version"]);
  expect(stdout).toBe(`kubectl-iam ${version}\n`);
  const explained = await run(process.execPath, [link, "explain", "KeyOrphaned"]);
  expect(explained.stdout).toContain("its secret is lost");
});

test("a start reads little: the code of a command, of zod and of the clients comes when it is needed", () => {
  const read = new Set<string>();
  const follow = (name: string) => {
    if (read.has(name)) return;
    read.add(name);
    const text = readFileSync(join(folder, name), "utf8");
    for (const [, next = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) follow(next);
  };
  follow("kubectl-iam.mjs");
  const main = readdirSync(folder).find((name) => /^main-.*\.mjs$/.test(name));
  follow(main ?? "");
  const bytes = [...read].reduce((sum, name) => sum + readFileSync(join(folder, name)).length, 0);
  expect(bytes).toBeLessThan(120_000);
});

test("the krew manifest names the archive and its hash for every system", () => {
  const archive = {
    bytes: Buffer.from("archive"),
    uri: "https://x/a.tar.gz",
    homepage: "https://x",
  };
  expect(toKrewManifest(archive)).toMatchObject({
    metadata: { name: "iam" },
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
