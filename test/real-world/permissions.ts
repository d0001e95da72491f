import type { KubeClient } from "../../src/kube/client/client.ts";
import type { KubeObject, ResourceType } from "../../src/kube/resource.ts";

const group = "rbac.authorization.k8s.io";
const rbac = { group, version: "v1", namespaced: true } as const;
const roleType: ResourceType = { ...rbac, plural: "roles", kind: "Role" };
const roleBindingType: ResourceType = { ...rbac, plural: "rolebindings", kind: "RoleBinding" };

/** Gives a user permissions in a namespace. */
export async function permit(
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
