/** Bundles kubectl-iam into a folder that holds all of it: what a release archive has. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";
import { build, type Plugin } from "esbuild";
import { scripts } from "../src/kubectl-iam/cli/completion-scripts.ts";
import { bundleOptions, root, undiciParts } from "./bundle-options.ts";

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
    onResolve({ filter: /^undici$/ }, () => ({ path: undiciParts }));
  },
};

/** Writes the plugin and what belongs beside it into `folder`. */
export async function buildPlugin(folder: string): Promise<void> {
  await build({
    ...bundleOptions,
    entryPoints: { "kubectl-iam": "src/kubectl-iam/main.ts" },
    outdir: folder,
    minify: true,
    plugins: [parts],
  });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  copyFileSync(join(root, "docs/troubleshooting.md"), join(folder, "troubleshooting.md"));
  writeFileSync(join(folder, "kubectl_complete-iam"), `${scripts.kubectl}\n`);
  for (const program of ["kubectl-iam.mjs", "kubectl_complete-iam"])
    chmodSync(join(folder, program), 0o755);
}
