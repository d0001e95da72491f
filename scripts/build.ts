/**
 * Bundles the operator into dist/, and kubectl-iam into dist/kubectl-iam/ unless `--operator-only` is given.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import { buildPlugin } from "./build-plugin.ts";
import { bundleOptions, root } from "./bundle-options.ts";

const outdir = join(root, "dist");

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  ...bundleOptions,
  entryPoints: { "iam-operator": "src/main.ts" },
  outdir,
  minifySyntax: true,
  minifyWhitespace: true,
  // Names stay, for the stacks of bugs.
  minifyIdentifiers: false,
  sourcemap: "external",
  metafile: true,
});

// esbuild also writes what is imported on demand by code that it has left out.
const used = new Set<string>();
const use = (file: string): void => {
  if (used.has(file)) return;
  used.add(file);
  for (const { path, external } of metafile.outputs[file]?.imports ?? []) if (!external) use(path);
};
use(Object.keys(metafile.outputs).find((file) => file.endsWith("/iam-operator.mjs")) ?? "");

for (const [file, { bytes }] of Object.entries(metafile.outputs).sort()) {
  if (!used.has(file.replace(/(\.map|\.LEGAL\.txt)$/, ""))) rmSync(join(root, file));
  if (!used.has(file)) continue;
  const hash = createHash("sha256")
    .update(readFileSync(join(root, file)))
    .digest("hex");
  const kilobytes = (bytes / 1000).toFixed(0).padStart(6);
  console.log(`${kilobytes} kB  ${basename(file).padEnd(32)} sha256:${hash.slice(0, 16)}`);
}

if (!process.argv.includes("--operator-only")) await buildPlugin(join(outdir, "kubectl-iam"));
