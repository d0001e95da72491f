/**
 * Bundles the operator into dist/, and kubectl-iam into dist/kubectl-iam/ unless `--operator-only` is given. The same
 * sources always give the same bytes.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { build } from "esbuild";
import { buildPlugin } from "./build-plugin.ts";

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
  // @kubernetes/client-node and OpenTelemetry are imported on demand, and so come in files of their own.
  splitting: true,
  chunkNames: "[name]-[hash]",
  minifySyntax: true,
  minifyWhitespace: true,
  // Names stay, for the stacks of bugs.
  minifyIdentifiers: false,
  sourcemap: "external",
  legalComments: "linked",
  metafile: true,
  plugins: [
    {
      name: "undici in parts",
      setup: ({ onResolve }) =>
        onResolve({ filter: /^undici$/ }, ({ importer }) =>
          importer.startsWith(join(root, "src") + sep)
            ? { path: join(import.meta.dirname, "undici-parts.cjs") }
            : undefined,
        ),
    },
  ],
  // Bundled CommonJS packages require Node's modules, which an ES module has no `require` for.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
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
