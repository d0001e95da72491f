import { join } from "node:path";
import type { Kubectl } from "./kubectl.ts";

/** The operator's own namespace. */
export const SYSTEM = "iam-operator-system";

/** Brings the CRDs, the operator's namespace and the rights of deploy/rbac for the user `operator`. */
export async function installOperator(kubectl: Kubectl, root: string): Promise<void> {
  await kubectl(["apply", "--server-side", "-f", join(root, "crds")]);
  await kubectl(["create", "namespace", SYSTEM]);
  await kubectl(["apply", "-f", join(root, "deploy/rbac")]);
  const subject = "--user=operator";
  await kubectl(["create", "clusterrolebinding", "op", "--clusterrole=iam-operator", subject]);
  await kubectl(["create", "rolebinding", "op", `-n=${SYSTEM}`, "--role=iam-operator", subject]);
  await kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=20s"]);
}
