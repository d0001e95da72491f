/** Whether an operator works: the holder of its Lease renews it. */

import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import { type Instant, parseInstant, SECOND } from "../../util/time.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { unlessForbidden } from "../cluster/read.ts";
import { relative } from "../view/time.ts";
import { type Finding, failed, ok, skipped } from "./finding.ts";

const CHECK = "Leader";
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

/** Rejects with KubeError. */
export async function checkLeader(
  { kube }: Cluster,
  namespace: string,
  now: Instant,
): Promise<readonly Finding[]> {
  const lease = await unlessForbidden(
    kube.get(leaseType, { namespace, name: NAME }).then((found) => found ?? "none"),
  );
  if (lease === undefined) return [skipped(CHECK, `you may not read leases in ${namespace}`)];
  const remedy = `kubectl get pods -n ${namespace}; or name its namespace by --operator-namespace.`;
  if (lease === "none") return [failed(CHECK, `no operator has ever led in ${namespace}`, remedy)];
  const { holderIdentity = "", renewTime, leaseDurationSeconds = 0 } = lease.spec ?? {};
  const renewed = parseInstant(renewTime);
  const isFresh = renewed !== undefined && now - renewed < leaseDurationSeconds * SECOND;
  if (holderIdentity !== "" && isFresh)
    return [ok(CHECK, `${holderIdentity}, renewed ${relative(renewTime, now)}`)];
  const who = holderIdentity === "" ? "nobody leads" : `${holderIdentity} does not renew its lease`;
  return [failed(CHECK, `${who} (last ${relative(renewTime, now)})`, remedy)];
}
