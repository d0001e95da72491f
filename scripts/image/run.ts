/**
 * Builds the image and says what it weighs: `npm run image -- [--json FILE] [--save FILE]`. On a machine that
 * cannot, it says why, and that is no failure.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startControlPlane } from "../../test/cluster/control-plane.ts";
import { readFlags } from "../flags.ts";
import { buildBundle, hashOf } from "./bundle.ts";
import { type BuiltImage, buildImage } from "./image.ts";
import { measureMemory, measureStartUp, preparePod } from "./measure.ts";
import { Unable } from "./tools.ts";

const targets = { megabytesOverBase: 8, startUpMs: 200, idleMegabytes: 80 };
const values = readFlags("image", { json: { type: "string" }, save: { type: "string" } });
const say = (line: string) => console.log(`▸ ${line}`);

async function main(): Promise<void> {
  const startedAt = performance.now();
  const image = await buildImage(say);
  const { buildah, bases, tag } = image;
  const buildSeconds = (performance.now() - startedAt) / 1_000;
  say("comparing the bundle with two more builds of it");
  const hashes = await bundleHashes(image);
  say("weighing");
  const bytes = await buildah.size(tag);
  const baseBytes = await buildah.size(bases.runtime);
  const figures = {
    skipped: false,
    image: tag,
    buildSeconds: round(buildSeconds),
    megabytes: round(bytes / 1e6),
    megabytesOverBase: round((bytes - baseBytes) / 1e6),
    bundleSha256: hashes[0],
    bundleIsReproducible: hashes.every((hash) => hash === hashes[0]),
    ...(await runningFigures(image)),
    components: await componentCount(image),
    targets,
  };
  if (values.save) await buildah.save(tag, values.save);
  for (const [name, value] of Object.entries(figures))
    if (typeof value !== "object") console.log(`  ${name.padEnd(22)} ${value}`);
  report(figures);
  if (!figures.bundleIsReproducible) throw new Error("the same sources gave different bundles");
}

async function runningFigures({ buildah, tag }: BuiltImage) {
  say("starting a control plane to measure against");
  const cluster = await startControlPlane({ onProgress: say, controllerManager: false });
  try {
    say("measuring start-up and memory");
    return await buildah.withFiles(tag, async (folder) => {
      await preparePod(folder, cluster);
      const start = await measureStartUp(folder);
      const memory = await measureMemory(folder, cluster);
      const rounded = Object.entries({ ...start, ...memory }).map(([n, v]) => [n, round(v)]);
      return Object.fromEntries(rounded) as typeof start & typeof memory;
    });
  } finally {
    await cluster.stop();
  }
}

/** The code in the image, and built twice from copies of the sources in other places. */
async function bundleHashes({ buildah, tag, sources }: BuiltImage): Promise<readonly string[]> {
  const inImage = await buildah.withFiles(tag, async (folder) => hashOf(join(folder, "app")));
  const again = [await hashOfCopy(sources), await hashOfCopy(sources)];
  return [inImage, ...again];
}

async function hashOfCopy(sources: string): Promise<string> {
  const copy = await buildBundle(sources);
  try {
    return hashOf(join(copy, "dist"));
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function componentCount({ buildah, tag }: BuiltImage): Promise<number> {
  return buildah.withFiles(tag, async (folder) => {
    const file = join(folder, "app/sbom.cdx.json");
    if (!existsSync(file)) throw new Error("the image has no SBOM");
    return JSON.parse(readFileSync(file, "utf8")).components.length;
  });
}

function report(figures: object): void {
  if (values.json) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof Unable)) throw error;
  console.log(`skipped: ${error.message}`);
  report({ skipped: true, why: error.message });
}
