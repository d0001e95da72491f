/** A real API server for one test file, with helm at hand. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHART, findHelm, type Output, runHelm } from "../../../scripts/chart/helm.ts";
import { createKubectl, type Kubectl } from "../../../scripts/demo/kubectl.ts";
import { type ControlPlane, startControlPlane } from "../../cluster/control-plane.ts";

export interface Cluster extends ControlPlane {
  /** kubectl with every right. */
  readonly asAdmin: Kubectl;
  readonly helm: string;
  runHelm(args: readonly string[]): Promise<Output>;
  /** Rejects with helm's words where it fails. */
  helmDo(...args: readonly string[]): Promise<string>;
  createNamespaces(...names: readonly string[]): Promise<void>;
  /** A kubeconfig with a real token of a service account. */
  kubeconfigOf(namespace: string, serviceAccount: string): Promise<string>;
}

export async function startCluster(): Promise<Cluster> {
  const helm = await findHelm();
  const plane = await startControlPlane({ onProgress: (line) => console.log(line) });
  const kubectl = createKubectl(plane.kubectl, plane.kubeconfig);
  const helmAt = (args: readonly string[]) => runHelm(helm, args, plane.kubeconfig);
  return {
    ...plane,
    helm,
    asAdmin: kubectl,
    runHelm: helmAt,
    async helmDo(...args) {
      const { code, stdout, stderr } = await helmAt(args);
      if (code !== 0) throw new Error(`helm ${args.join(" ")}\n${stderr}`);
      return stdout;
    },
    async createNamespaces(...names) {
      for (const name of names) await kubectl(["create", "namespace", name]);
    },
    async kubeconfigOf(namespace, serviceAccount) {
      const token = await kubectl(["create", "token", serviceAccount, "-n", namespace]);
      const file = join(plane.directory, `${namespace}-${serviceAccount}.kubeconfig`);
      const admin = readFileSync(plane.kubeconfig, "utf8");
      writeFileSync(file, admin.replace(/token: .*/, `token: ${token.trim()}`), { mode: 0o600 });
      return file;
    },
  };
}

export const install = (release: string, namespace: string, ...args: readonly string[]) => [
  "upgrade",
  "--install",
  release,
  CHART,
  `--namespace=${namespace}`,
  ...args,
];
