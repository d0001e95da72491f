/** The Lease of a manager that is a program, and the permission to hold it. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import { type Lease, leaseType } from "../../src/kube/resource-types.ts";
import { permit } from "./permissions.ts";

/** Leaves the Lease as a manager does that has stopped: one that finds no Lease waits for its duration. */
export async function prepareLease(kube: KubeClient, namespace: string): Promise<void> {
  const verbs = ["get", "create", "update"];
  const rule = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs };
  await permit(kube, namespace, "operator", [rule]);
  await kube.create(leaseType, {
    metadata: { name: "iam-operator", namespace },
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  } as Lease);
}
