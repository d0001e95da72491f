/** How both programs are bundled. The same sources always give the same bytes. */
import { join } from "node:path";
import type { BuildOptions } from "esbuild";

export const root = join(import.meta.dirname, "..");
/** What the sources use of undici. */
export const undiciParts = join(import.meta.dirname, "undici-parts.cjs");

export const bundleOptions = {
  absWorkingDir: root,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  // What is imported on demand comes in files of its own, which are read when they are needed.
  splitting: true,
  chunkNames: "[name]-[hash]",
  legalComments: "linked",
  // Bundled CommonJS packages require Node's modules, which an ES module has no `require` for.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
} as const satisfies BuildOptions;
