/** How both programs are bundled. The same sources always give the same bytes. */
import { join, sep } from "node:path";
import type { BuildOptions, Plugin } from "esbuild";

export const root = join(import.meta.dirname, "..");
const source = join(root, "src") + sep;
const clientNode = join(root, "node_modules/@kubernetes/client-node/dist");

/**
 * Of client-node only what reads a kubeconfig: its entry loads a class for every kind of Kubernetes, nearly all of its
 * six megabytes. Of undici what the sources use.
 */
const partsOfPackages: Plugin = {
  name: "parts of packages",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, ({ importer }) =>
      importer.startsWith(source) ? { path: join(clientNode, "config.js") } : undefined,
    );
    onResolve({ filter: /^\.\/gen\/index\.js$/ }, ({ importer }) =>
      importer.startsWith(clientNode) ? { path: "gen", namespace: "left-out" } : undefined,
    );
    onLoad({ filter: /^gen$/, namespace: "left-out" }, () => ({
      contents: `
        const leftOut = () => { throw new Error("left out of the bundle"); };
        export { leftOut as createConfiguration, leftOut as ServerConfiguration };`,
    }));
    onResolve({ filter: /^undici$/ }, () => ({
      path: join(import.meta.dirname, "undici-parts.cjs"),
    }));
  },
};

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
  plugins: [partsOfPackages],
  // Bundled CommonJS packages require Node's modules, which an ES module has no `require` for.
  banner: {
    js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
  },
} as const satisfies BuildOptions;
