/** Compares what an identity may do with what it did, by the API server's audit log. */
import { readFileSync } from "node:fs";

export interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** One verb on one resource, such as "patch secrets" or "update leases.coordination.k8s.io/iam-operator". */
export type Right = string;

export interface Audit {
  readonly used: readonly Right[];
  readonly unused: readonly Right[];
  /** Requests that were refused for want of a right. */
  readonly denied: readonly Right[];
  readonly requests: number;
}

/** A time in which the roles are taken away from under the operator. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

/** Rights of which no request tells on this node, with the reason to have them all the same. */
const excuses: readonly (readonly [RegExp, string])[] = [
  [/^list /, "for API servers that do not stream lists"],
  [/^get configmaps/, "for a connection with authorities from one"],
  [/^get endpointslices/, "for Connections of namespaces, which are kept from the API server"],
  [
    /^get (apikeys|(cluster)?connections|policybindings|resourcequotaexports)/,
    "for an object that is too large to be kept in memory, or has changed while it was reconciled",
  ],
  [/^patch events/, "for an event that repeats"],
  [/^update apikeys\/finalizers/, "checked at writes of owner references, without a request"],
];

/** Why an unused right is no fault, or undefined. */
export function excuseFor(right: Right): string | undefined {
  return excuses.find(([pattern]) => pattern.test(right))?.[1];
}

interface AuditEvent {
  readonly verb: string;
  readonly stageTimestamp: string;
  readonly user: { readonly username: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

export function compareRights(
  auditLog: string,
  user: string,
  rules: readonly Rule[],
  uninstalled: Window,
): Audit {
  const events = readFileSync(auditLog, "utf8")
    .split("\n")
    .filter((line) => line.includes(user))
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter((event) => event.user.username === user && event.objectRef?.resource !== undefined);
  const isDenied = (event: AuditEvent) =>
    event.annotations?.["authorization.k8s.io/decision"] === "forbid";
  const isExpected = ({ stageTimestamp }: AuditEvent) => {
    const at = Date.parse(stageTimestamp);
    return at >= uninstalled.from && at <= uninstalled.to;
  };
  const denied = events.filter((event) => isDenied(event) && !isExpected(event));
  const used = new Set<Right>();
  for (const event of events.filter((candidate) => !isDenied(candidate)))
    for (const right of [rightOf(event, false), rightOf(event, true)]) used.add(right);
  const granted = [...new Set(rules.flatMap(rightsOf))].sort();
  return {
    used: granted.filter((right) => used.has(right)),
    unused: granted.filter((right) => !used.has(right)),
    denied: [...new Set(denied.map((event) => rightOf(event, true)))],
    requests: events.length,
  };
}

function rightOf({ verb, objectRef = {} }: AuditEvent, withName: boolean): Right {
  const { apiGroup, resource = "", subresource, name } = objectRef;
  const path = subresource === undefined ? resource : `${resource}/${subresource}`;
  return textOf(verb, apiGroup ?? "", path, withName ? name : undefined);
}

function rightsOf({
  apiGroups = [],
  resources = [],
  resourceNames,
  verbs,
}: Rule): readonly Right[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) =>
      verbs.flatMap((verb) =>
        (resourceNames ?? [undefined]).map((name) => textOf(verb, group, resource, name)),
      ),
    ),
  );
}

function textOf(verb: string, group: string, resource: string, name: string | undefined): Right {
  const where = group === "" ? resource : `${resource}.${group}`;
  return `${verb} ${where}${name === undefined ? "" : ` ${name}`}`;
}
