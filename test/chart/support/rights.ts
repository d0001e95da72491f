/** What a service account may do, each right by itself, and what of it the audit log shows in use. */
import { readFileSync } from "node:fs";
import type { Kubectl } from "../../../scripts/demo/kubectl.ts";

export interface Right {
  /** "*" for all. */
  readonly namespace: string;
  readonly group: string;
  /** With the subresource: apikeys/status. */
  readonly resource: string;
  readonly verb: string;
  readonly name: string | undefined;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

interface Role {
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules: readonly Rule[];
}

interface Binding extends Role {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects?: readonly { readonly name: string; readonly namespace?: string }[];
}

export interface Call {
  readonly namespace: string;
  readonly group: string;
  readonly resource: string;
  readonly verb: string;
  readonly name: string;
  readonly code: number;
  readonly decision: string;
  readonly reason: string;
}

export function text({ namespace, group, resource, verb, name }: Right): string {
  const what = `${group === "" ? "" : `${group}/`}${resource}${name === undefined ? "" : `:${name}`}`;
  return `${verb} ${what} in ${namespace}`;
}

export async function rightsOf(
  kubectl: Kubectl,
  account: { readonly namespace: string; readonly name: string },
): Promise<readonly Right[]> {
  const list = async <T>(kind: string): Promise<readonly T[]> =>
    JSON.parse(await kubectl(["get", kind, "-A", "-o", "json"])).items;
  const roles = [...(await list<Role>("roles")), ...(await list<Role>("clusterroles"))];
  const bindings = [
    ...(await list<Binding>("rolebindings")),
    ...(await list<Binding>("clusterrolebindings")),
  ];
  return bindings
    .filter(({ subjects = [] }) =>
      subjects.some(
        ({ name, namespace }) => name === account.name && namespace === account.namespace,
      ),
    )
    .flatMap(({ roleRef, metadata: { namespace } }) => {
      const home = roleRef.kind === "Role" ? namespace : undefined;
      const role = roles.find(
        ({ metadata }) => metadata.name === roleRef.name && metadata.namespace === home,
      );
      return (role?.rules ?? []).flatMap((rule) => expand(rule, namespace ?? "*"));
    });
}

function expand(
  { apiGroups, resources, verbs, resourceNames }: Rule,
  namespace: string,
): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        (resourceNames ?? [undefined]).map((name) => ({ namespace, group, resource, verb, name })),
      ),
    ),
  );
}

/** Every call of a user that the audit log knows. */
export function callsOf(auditLog: string, username: string): readonly Call[] {
  return readFileSync(auditLog, "utf8")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const {
        user,
        verb,
        objectRef = {},
        responseStatus = {},
        annotations = {},
      } = JSON.parse(line);
      if (user.username !== username) return [];
      const { resource = "", subresource, namespace = "", name = "", apiGroup = "" } = objectRef;
      return [
        {
          namespace,
          group: apiGroup,
          resource: subresource === undefined ? resource : `${resource}/${subresource}`,
          verb,
          name,
          code: responseStatus.code ?? 0,
          decision: annotations["authorization.k8s.io/decision"] ?? "",
          reason: annotations["authorization.k8s.io/reason"] ?? "",
        },
      ];
    });
}

export function isUsed(right: Right, calls: readonly Call[]): boolean {
  return calls.some(
    ({ namespace, group, resource, verb, name, code }) =>
      code < 400 &&
      verb === right.verb &&
      group === right.group &&
      resource === right.resource &&
      (right.namespace === "*" || right.namespace === namespace) &&
      (right.name === undefined || right.name === name),
  );
}
