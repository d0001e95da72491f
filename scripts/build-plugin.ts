/** Bundles kubectl-iam into a folder that holds all of it: what a release archive has. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { build, type Plugin } from "esbuild";
import { scripts } from "../src/kubectl-iam/cli/completion-scripts.ts";

const root = join(import.meta.dirname, "..");
const source = join(root, "src") + sep;
const clientNode = join(root, "node_modules/@kubernetes/client-node/dist");

/**
 * Of client-node only what reads a kubeconfig: its entry loads a class for every kind of Kubernetes, which would be most
 * of the start-up time. Of undici what the sources use.
 */
const parts: Plugin = {
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

/** Writes the plugin and what belongs beside it into `folder`. The same sources always give the same bytes. */
export async function buildPlugin(folder: string): Promise<void> {
  await build({
    absWorkingDir: root,
    entryPoints: { "kubectl-iam": "src/kubectl-iam/main.ts" },
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node24",
    // Each command comes in a file of its own, which is read when it is called.
    splitting: true,
    chunkNames: "[name]-[hash]",
    minify: true,
    legalComments: "linked",
    plugins: [parts],
    // Bundled CommonJS packages require Node's modules, which an ES module has no `require` for.
    banner: {
      js: 'import{createRequire as __createRequire}from"node:module";const require=__createRequire(import.meta.url);',
    },
  });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  copyFileSync(join(root, "docs/troubleshooting.md"), join(folder, "troubleshooting.md"));
  writeFileSync(join(folder, "kubectl_complete-iam"), `${scripts.kubectl}\n`);
  for (const program of ["kubectl-iam.mjs", "kubectl_complete-iam"])
    chmodSync(join(folder, program), 0o755);
}
