/** Where the demo runs: in a control plane of its own, or in a cluster that somebody has. */
import { join } from "node:path";
import { findKubectl } from "../../test/cluster/binaries.ts";
import { startControlPlane } from "../../test/cluster/control-plane.ts";
import {
  installForServiceAccount,
  NAMESPACE,
  SYSTEM,
  uninstall,
  writeTokenKubeconfig,
} from "./install.ts";
import { createKubectl, type Kubectl } from "./kubectl.ts";
import { PATIENCE_S } from "./patience.ts";
import type { Steps } from "./steps.ts";

export interface Place {
  readonly kubectl: Kubectl;
  /** The program behind `kubectl`, and the kubeconfig of an administrator. */
  readonly program: string;
  readonly kubeconfig: string;
  /** The kubeconfig of the operator. */
  readonly operatorKubeconfig: string;
  /** Takes away what only the operator can end: call it while that still runs. */
  removeObjects(): Promise<void>;
  /** Takes away the rest. */
  remove(): Promise<void>;
}

/** A control plane on loopback that vanishes with everything in it. */
export async function ownPlace(steps: Steps, root: string, directory: string): Promise<Place> {
  const cluster = await steps.run(
    "Start a Kubernetes control plane (etcd and kube-apiserver; no nodes)",
    () => startControlPlane({ minimal: true, onProgress: (line) => console.log(`  ${line}`) }),
  );
  const { kubectl: program, kubeconfig } = cluster;
  const kubectl = createKubectl(program, kubeconfig);
  try {
    const operatorKubeconfig = await install(steps, kubectl, root, directory);
    const nothing = () => Promise.resolve();
    const place = { kubectl, program, kubeconfig, operatorKubeconfig };
    return { ...place, removeObjects: nothing, remove: () => cluster.stop() };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/** A cluster of somebody's, which is left as it was. Throws where the demo would get in its way. */
export async function givenPlace(
  steps: Steps,
  root: string,
  directory: string,
  kubeconfig: string,
): Promise<Place> {
  const program = findKubectl();
  if (program === undefined) throw new Error("--kubeconfig needs kubectl on PATH");
  const kubectl = createKubectl(program, kubeconfig);
  await steps.run("Make sure that the cluster has no iam-operator", () => refuseInhabited(kubectl));
  const remove = () => uninstall(kubectl, root);
  try {
    const operatorKubeconfig = await install(steps, kubectl, root, directory);
    const place = { kubectl, program, kubeconfig, operatorKubeconfig, remove };
    return { ...place, removeObjects: () => removeObjects(kubectl) };
  } catch (error) {
    await remove();
    throw error;
  }
}

function install(steps: Steps, kubectl: Kubectl, root: string, directory: string): Promise<string> {
  return steps.run("Install the CRDs and the operator's permissions", async () => {
    const file = join(directory, "operator.kubeconfig");
    await writeTokenKubeconfig(kubectl, await installForServiceAccount(kubectl, root), file);
    return file;
  });
}

async function refuseInhabited(kubectl: Kubectl): Promise<void> {
  const names = ["namespace", NAMESPACE, SYSTEM];
  const found = [
    ...(await kubectl(["get", "crd", "-o", "name"]))
      .split("\n")
      .filter((name) => name.endsWith(".iam-operator.io")),
    ...(await kubectl(["get", ...names, "--ignore-not-found", "-o", "name"])).split("\n"),
  ].filter((name) => name !== "");
  if (found.length > 0)
    throw new Error(
      `the demo makes and deletes what this cluster has already: ${found.join(", ")}`,
    );
}

async function removeObjects(kubectl: Kubectl): Promise<void> {
  const timeout = `--timeout=${PATIENCE_S}s`;
  await kubectl(["delete", "iam", "--all", `-n=${NAMESPACE}`, timeout]);
  await kubectl(["delete", "iamcconn", "--all", timeout]);
}
