/** Which of the operator's writes an admission webhook or policy sees. Pure. */
import type { Kind } from "../../api/kind.ts";
import { kinds } from "../../api/kinds.ts";
import { GROUP, labels, MANAGED_BY } from "../../api/meta.ts";
import { matchesLabels } from "../../kube/match-labels.ts";
import type { LabelSelector } from "../../kube/resource-types.ts";
import { ownEntry } from "../../util/own-entry.ts";

type Labels = Readonly<Record<string, string>>;

export interface MatchRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

/** As in a webhook, and in the `matchConstraints` of a policy and the `matchResources` of its binding. */
export interface MatchResources {
  /** Absent: every resource. */
  readonly resourceRules?: readonly MatchRule[] | undefined;
  readonly namespaceSelector?: LabelSelector | undefined;
  readonly objectSelector?: LabelSelector | undefined;
}

/** The labels of the namespaces in which the operator writes; `undefined` if they are not known. */
export type WrittenNamespaces = readonly Labels[] | undefined;

const plurals = (wanted: Kind["scope"]) =>
  kinds
    .filter(({ scope }) => scope === wanted)
    .flatMap(({ plural }) => [plural, `${plural}/*`, `${plural}/status`]);

/** What the operator writes, by API group and resource. */
const WRITES = {
  Secret: { group: "", resources: ["secrets"] },
  Object: { group: GROUP, resources: ["*/status", ...plurals("Namespaced")] },
  /** Selectors of namespaces do not apply to it. */
  ClusterObject: { group: GROUP, resources: ["*/status", ...plurals("Cluster")] },
} as const;

type Write = keyof typeof WRITES;

/** Whether all of them can see one write. What is not known, such as labels that users declare, can match. */
export function canSeeWrite(
  scopes: readonly MatchResources[],
  namespaces: WrittenNamespaces,
): boolean {
  const writes = Object.keys(WRITES) as Write[];
  return writes.some((write) => scopes.every((scope) => canSee(scope, write, namespaces)));
}

function canSee(
  { resourceRules, namespaceSelector = {}, objectSelector = {} }: MatchResources,
  write: Write,
  namespaces: WrittenNamespaces,
): boolean {
  const isNamed = resourceRules?.some((rule) => names(rule, write)) ?? true;
  const isThere =
    write === "ClusterObject" ||
    (namespaces?.some((each) => matchesLabels(namespaceSelector, each)) ?? true);
  return isNamed && isThere && (write !== "Secret" || canMatchSecret(objectSelector));
}

function names({ apiGroups = [], resources = [] }: MatchRule, write: Write): boolean {
  const written = WRITES[write];
  return isAny(apiGroups, written.group, "*") && isAny(resources, "*", "*/*", ...written.resources);
}

function isAny(named: readonly string[], ...wanted: readonly string[]): boolean {
  return named.some((each) => wanted.includes(each));
}

/** Labels that each of the operator's Secrets has. */
const OF_SECRETS: Labels = { [labels.managedBy]: MANAGED_BY };

function canMatchSecret({ matchLabels = {}, matchExpressions = [] }: LabelSelector): boolean {
  const known = {
    matchLabels: Object.fromEntries(Object.entries(matchLabels).filter(([key]) => isKnown(key))),
    matchExpressions: matchExpressions.filter(({ key }) => isKnown(key)),
  };
  return matchesLabels(known, OF_SECRETS);
}

function isKnown(key: string): boolean {
  return ownEntry(OF_SECRETS, key) !== undefined;
}
