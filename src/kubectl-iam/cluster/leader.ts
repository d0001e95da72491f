/** The Lease by which one replica of the operator leads. */
import { type Lease, leaseType } from "../../kube/resource-types.ts";
import { type Instant, parseInstant, SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { wrap } from "../view/screen.ts";
import { age, relative } from "../view/time.ts";
import type { Cluster } from "./cluster.ts";
import { operatorNamespace } from "./operator.ts";
import { unlessForbidden } from "./read.ts";

const NAME = "iam-operator";

export type Leader =
  | { readonly kind: "Held"; readonly text: string }
  /** The Lease exists, and no replica renews it. */
  | { readonly kind: "Lost"; readonly text: string }
  /** No Lease exists: the operator runs elsewhere, without leader election, or not at all. */
  | { readonly kind: "None"; readonly text: string }
  | { readonly kind: "Unreadable"; readonly text: string };

/**
 * Prefers a Lease that is held: Leases of former selectors stay, and no replica renews them. Rejects with KubeError.
 */
export async function readLeader(cluster: Cluster, namespace: string): Promise<Leader> {
  const leases = await unlessForbidden(readLeases(cluster, namespace));
  if (leases === undefined)
    return {
      kind: "Unreadable",
      text: `you do not have permission to read the Lease in ${namespace}`,
    };
  const leaders = leases.map((lease) => toLeader(lease, cluster.now()));
  const held = leaders.find(({ kind }) => kind === "Held");
  return (
    held ??
    leaders[0] ?? {
      kind: "None",
      text: `a Lease of the operator does not exist in ${namespace}`,
    }
  );
}

/** Without a leader, the objects do not change, and what they report may be over: warns about that. */
export async function noteLeader({ io, options }: Invocation, cluster: Cluster): Promise<Leader> {
  const leader = await readLeader(cluster, operatorNamespace(options));
  if (leader.kind === "Lost") io.note(`warning: ${leader.text}: kubectl iam doctor\n`);
  return leader;
}

/** A line for output that expects something of the operator, unless a Lease shows whether the operator runs. */
export function noteUnknownLeader({ io }: Pick<Invocation, "io">, { kind, text }: Leader): void {
  if (kind === "Held" || kind === "Lost") return;
  // The operator may run in another namespace.
  const elsewhere = kind === "None" ? " (--operator-namespace names another namespace)" : "";
  const note = `Whether the operator runs is unknown: ${text}${elsewhere}. Nothing is renewed or changed unless it runs.`;
  io.note(wrap(note, io.width).join("\n"));
}

/** Sorted by renewal, the latest first. If the operator has a selector, the name of its Lease contains a hash of it. */
async function readLeases({ kube }: Cluster, namespace: string): Promise<readonly Lease[]> {
  const listed = await unlessForbidden(kube.list(leaseType, { namespace }));
  if (listed === undefined) {
    const only = await kube.get(leaseType, { namespace, name: NAME });
    return only === undefined ? [] : [only];
  }
  return listed
    .filter(({ metadata: { name } }) => name === NAME || name.startsWith(`${NAME}-`))
    .toSorted((a, b) => (b.spec?.renewTime ?? "").localeCompare(a.spec?.renewTime ?? ""));
}

function toLeader({ spec }: Lease, now: Instant): Leader {
  const { holderIdentity = "", renewTime, leaseDurationSeconds = 0 } = spec ?? {};
  const renewed = parseInstant(renewTime);
  const isFresh = renewed !== undefined && now - renewed < leaseDurationSeconds * SECOND;
  if (holderIdentity !== "" && isFresh)
    return { kind: "Held", text: `${holderIdentity}, renewed ${relative(renewTime, now)}` };
  return {
    kind: "Lost",
    text:
      renewed === undefined
        ? "no replica of the operator holds the Lease"
        : `no replica of the operator has renewed the Lease for ${age(renewTime, now)}`,
  };
}
