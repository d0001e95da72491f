/** One real control plane for all tests that only need a namespace of their own, whichever project they belong to. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildPlugin } from "../../scripts/build-plugin.ts";
import { installOperator } from "../../scripts/demo/install.ts";
import { createKubectl } from "../../scripts/demo/kubectl.ts";
import { startControlPlane } from "../cluster/control-plane.ts";

declare module "vitest" {
  interface ProvidedContext {
    controlPlane: SharedControlPlane;
  }
}

export interface SharedControlPlane {
  readonly url: string;
  /** Of a cluster administrator; beside it are those of other users. */
  readonly kubeconfig: string;
  readonly kubectl: string;
  readonly auditLog: string;
  readonly caFile: string;
  /** The folder of the bundled kubectl plugin. */
  readonly plugin: string;
}

const ROOT = join(import.meta.dirname, "../..");

export default async function setup(
  project: TestProject,
): Promise<(() => Promise<void>) | undefined> {
  if ("controlPlane" in project.getProvidedContext()) return undefined;
  const plugin = mkdtempSync(join(tmpdir(), "kubectl-iam-bundle-"));
  const starting = startControlPlane({ onProgress: (line) => console.log(line) });
  const [cluster] = await Promise.all([starting, buildPlugin(plugin)]);
  const kubectl = createKubectl(cluster.kubectl, cluster.kubeconfig);
  await installOperator(kubectl, ROOT);
  await cluster.restartControllerManager();
  project.vitest.provide("controlPlane", {
    url: cluster.url,
    kubeconfig: cluster.kubeconfig,
    kubectl: cluster.kubectl,
    auditLog: cluster.auditLog,
    caFile: cluster.caFile,
    plugin,
  });
  return async () => {
    await cluster.stop();
    rmSync(plugin, { recursive: true });
  };
}
