/** The Lease by which one replica of the operator works. */
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { type Instant, parseInstant, SECOND } from "../../util/time.ts";
import { age, relative } from "../view/time.ts";
import type { Cluster } from "./cluster.ts";
import { unlessForbidden } from "./read.ts";

const NAME = "iam-operator";

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly renewTime?: string;
    readonly leaseDurationSeconds?: number;
  };
}

const leaseType: ResourceType<Lease> = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

export type Leader =
  | { readonly kind: "Held"; readonly text: string }
  /** There is a Lease, and no replica renews it. */
  | { readonly kind: "Lost"; readonly text: string }
  /** There is no Lease: the operator runs elsewhere, without leader election, or not at all. */
  | { readonly kind: "None"; readonly text: string }
  | { readonly kind: "Unreadable"; readonly text: string };

/** Rejects with KubeError. */
export async function readLeader(
  { kube }: Cluster,
  namespace: string,
  now: Instant,
): Promise<Leader> {
  const lease = await unlessForbidden(
    kube.get(leaseType, { namespace, name: NAME }).then((found) => found ?? "none"),
  );
  if (lease === undefined)
    return {
      kind: "Unreadable",
      text: `you do not have permission to read the Lease in ${namespace}`,
    };
  if (lease === "none")
    return { kind: "None", text: `no replica of the operator has ever led in ${namespace}` };
  const { holderIdentity = "", renewTime, leaseDurationSeconds = 0 } = lease.spec ?? {};
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
