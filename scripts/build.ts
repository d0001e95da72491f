/** Bundles the operator into dist/. The same sources always give the same bytes. */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

const root = join(import.meta.dirname, "..");
const outdir = join(root, "dist");

rmSync(outdir, { recursive: true, force: true });
const { metafile } = await build({
  absWorkingDir: root,
  entryPoints: { "iam-operator": "src/main.ts" },
  outdir,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // @kubernetes/client-node is imported on demand, and so comes in a file of its own.
  splitting: true,
  chunkNames: "[name]-[hash]",
  minify: true,
  sourcemap: "external",
  legalComments: "linked",
  metafile: true,
  // Bundled CommonJS packages require Node's modules, which an ES module has no `require` for.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
});

for (const [file, { bytes }] of Object.entries(metafile.outputs).sort()) {
  if (!file.endsWith(".mjs")) continue;
  const hash = createHash("sha256")
    .update(readFileSync(join(root, file)))
    .digest("hex");
  const kilobytes = (bytes / 1000).toFixed(0).padStart(6);
  console.log(`${kilobytes} kB  ${basename(file).padEnd(32)} sha256:${hash.slice(0, 16)}`);
}
