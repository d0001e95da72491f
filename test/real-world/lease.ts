/** The Lease of a manager that is a program, and the permission to hold it. */
import type { KubeClient } from "../../src/kube/client/client.ts";
import type { KubeObject, ResourceType } from "../../src/kube/resource.ts";
import { type Lease, leaseType } from "../../src/kube/resource-types.ts";

const group = "rbac.authorization.k8s.io";
const rbac = { group, version: "v1", namespaced: true } as const;
export const roleType: ResourceType = { ...rbac, plural: "roles", kind: "Role" };
export const roleBindingType: ResourceType = {
  ...rbac,
  plural: "rolebindings",
  kind: "RoleBinding",
};

/** Gives a user these permissions in a namespace. */
export async function grant(
  kube: KubeClient,
  namespace: string,
  user: string,
  rules: readonly object[],
): Promise<void> {
  const metadata = { name: user, namespace };
  await kube.create(roleType, { metadata, rules } as KubeObject);
  await kube.create(roleBindingType, {
    metadata,
    roleRef: { apiGroup: group, kind: "Role", name: user },
    subjects: [{ apiGroup: group, kind: "User", name: user }],
  } as KubeObject);
}

/** Leaves the Lease as a manager does that has stopped: one that finds no Lease waits for its duration. */
export async function prepareLease(kube: KubeClient, namespace: string): Promise<void> {
  const verbs = ["get", "create", "update"];
  const rule = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs };
  await grant(kube, namespace, "operator", [rule]);
  await kube.create(leaseType, {
    metadata: { name: "iam-operator", namespace },
    spec: { holderIdentity: "", leaseDurationSeconds: 1 },
  } as Lease);
}
