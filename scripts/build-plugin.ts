/** Bundles kubectl-iam into a folder that holds all of it: what a release archive has. */
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { scripts } from "../src/kubectl-iam/cli/completion-scripts.ts";
import { bundleOptions, root } from "./bundle-options.ts";

/** Writes the plugin and what belongs beside it into `folder`. */
export async function buildPlugin(folder: string): Promise<void> {
  await build({
    ...bundleOptions,
    entryPoints: { "kubectl-iam": "src/kubectl-iam/main.ts" },
    outdir: folder,
    minify: true,
  });
  mkdirSync(folder, { recursive: true });
  copyFileSync(join(root, "LICENSE"), join(folder, "LICENSE"));
  writeFileSync(join(folder, "kubectl_complete-iam"), `${scripts.kubectl}\n`);
  for (const program of ["kubectl-iam.mjs", "kubectl_complete-iam"])
    chmodSync(join(folder, program), 0o755);
}
