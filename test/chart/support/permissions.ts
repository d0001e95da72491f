/** What a rendering of the chart permits, as lines to compare: permissions of its roles and rules of its admission policies. */
import { parseAllDocuments } from "yaml";

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly rules?: readonly Rule[];
  readonly spec?: Readonly<Record<string, readonly { readonly expression: string }[]>>;
}

const EXPRESSIONS = ["matchConditions", "variables", "validations"];

/** Each line of one rendering once: `role @scope: verbs resource [names]`, then `policy list: expression`. */
export function permissionsOf(rendering: string): readonly string[] {
  return parseAllDocuments(rendering)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
    .flatMap((manifest) => {
      if (/^(Cluster)?Role$/.test(manifest.kind)) return permissionsOfRole(manifest);
      return manifest.kind === "ValidatingAdmissionPolicy" ? expressionsOf(manifest) : [];
    });
}

function permissionsOfRole({ kind, metadata, rules = [] }: Manifest): readonly string[] {
  const scope = kind === "ClusterRole" ? "cluster" : metadata.namespace;
  return rules
    .flatMap(({ apiGroups = [""], resources = [], nonResourceURLs = [], resourceNames, verbs }) => {
      const names = resourceNames === undefined ? "" : ` [${resourceNames.join(" ")}]`;
      const qualified = resources.flatMap((resource) =>
        apiGroups.map((group) => (group === "" ? resource : `${resource}.${group}`)),
      );
      return [...qualified, ...nonResourceURLs].map(
        (target) => `${metadata.name} @${scope}: ${verbs.join(",")} ${target}${names}`,
      );
    })
    .toSorted();
}

function expressionsOf({ metadata, spec = {} }: Manifest): readonly string[] {
  return EXPRESSIONS.flatMap((list) =>
    (spec[list] ?? []).map(
      ({ expression }) => `${metadata.name} ${list}: ${expression.replaceAll(/\s+/g, " ").trim()}`,
    ),
  );
}
