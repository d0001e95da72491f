/** Permissions, each checked by a SelfSubjectAccessReview. */
import type { Kind } from "../../api/kind.ts";
import { kinds } from "../../api/kinds.ts";
import { GROUP } from "../../api/meta.ts";
import { canI, type ResourceRule, type Verb } from "../../kube/client/access-review.ts";
import { isKubeError } from "../../kube/errors.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type Finding, failed, ok, unknown } from "./finding.ts";

export interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly Verb[];
}

/** The namespaced kinds. */
function pluralsOf(isMeant: (kind: Kind) => boolean = () => true): readonly string[] {
  return kinds
    .filter((kind) => kind.scope === "Namespaced" && isMeant(kind))
    .map(({ plural }) => plural);
}

/** The operator's permissions in the namespaces in which it works; the chart's rules are the same. */
export const operatorRules: readonly Rule[] = [
  {
    apiGroups: [GROUP],
    resources: pluralsOf(({ hasFinalizer }) => hasFinalizer),
    verbs: ["get", "list", "watch", "patch"],
  },
  {
    apiGroups: [GROUP],
    resources: pluralsOf(({ hasFinalizer }) => !hasFinalizer),
    verbs: ["get", "list", "watch"],
  },
  {
    apiGroups: [GROUP],
    resources: pluralsOf().map((plural) => `${plural}/status`),
    verbs: ["patch"],
  },
  { apiGroups: [GROUP], resources: ["apikeys/finalizers"], verbs: ["update"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
  { apiGroups: [""], resources: ["secrets"], verbs: ["get", "create", "patch", "delete"] },
  { apiGroups: [""], resources: ["configmaps"], verbs: ["get"] },
  {
    apiGroups: [GROUP],
    resources: ["clusterconnections"],
    verbs: ["list", "watch", "patch"],
  },
  { apiGroups: [GROUP], resources: ["clusterconnections/status"], verbs: ["patch"] },
  { apiGroups: [""], resources: ["namespaces"], verbs: ["list", "watch"] },
  {
    apiGroups: ["discovery.k8s.io"],
    resources: ["endpointslices"],
    resourceNames: ["kubernetes"],
    verbs: ["get"],
  },
];

/** The operator's permissions in its own namespace. */
export const leaseRules: readonly Rule[] = [
  { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"] },
  {
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    resourceNames: ["iam-operator"],
    verbs: ["get", "update"],
  },
];

/** The plugin's permissions for reading. */
export const readerRules: readonly Rule[] = [
  {
    apiGroups: [GROUP],
    resources: pluralsOf(),
    verbs: ["get", "list"],
  },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["list"] },
];

/** One finding for all rules: all are granted, or which are missing. Rejects with KubeError. */
export async function checkPermissions(
  check: string,
  cluster: Cluster,
  rules: readonly Rule[],
  namespace: string,
): Promise<Finding> {
  const permissions = rules.flatMap(toResourceRules);
  try {
    const answers = await Promise.all(
      permissions.map((permission) => isAllowed(cluster, permission, namespace)),
    );
    const missing = permissions.filter((_, index) => answers[index] === false);
    const where = namespace || "the cluster";
    if (missing.length === 0)
      return ok(check, `all ${permissions.length} permissions are granted in ${where}`);
    return failed(
      check,
      `${missing.length} of ${permissions.length} permissions are missing in ${where}`,
      `Add to a Role or ClusterRole of the user:\n${missingRules(missing)}`,
    );
  } catch (error) {
    if (isKubeError(error, "Forbidden"))
      return unknown(check, `you do not have permission to check them (${error.message})`);
    throw error;
  }
}

function toResourceRules({
  apiGroups,
  resources,
  resourceNames = [""],
  verbs,
}: Rule): readonly ResourceRule[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) =>
      resourceNames.flatMap((name) =>
        verbs.map((verb) => {
          const [resource = "", subresource = ""] = path.split("/");
          return { group, resource, subresource, name, verb };
        }),
      ),
    ),
  );
}

function isAllowed(
  { api }: Cluster,
  permission: ResourceRule,
  namespace: string,
): Promise<boolean> {
  const isOfCluster = ["clusterconnections", "namespaces"].includes(permission.resource);
  return canI(api, isOfCluster ? permission : { ...permission, namespace });
}

/** Pure. The rules in RBAC's form, one line for each resource. */
function missingRules(missing: readonly ResourceRule[]): string {
  const byResource = Map.groupBy(missing, ({ group, resource, subresource, name }) =>
    JSON.stringify([group, subresource === "" ? resource : `${resource}/${subresource}`, name]),
  );
  return [...byResource]
    .map(([key, permissions]) => {
      const [group, resource, name] = JSON.parse(key) as readonly [string, string, string];
      const names = name === "" ? "" : `, resourceNames: [${name}]`;
      const verbs = permissions.map(({ verb }) => verb).join(", ");
      return `- { apiGroups: ["${group}"], resources: [${resource}]${names}, verbs: [${verbs}] }`;
    })
    .join("\n");
}
