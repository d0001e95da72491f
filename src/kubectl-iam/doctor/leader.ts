/** Whether a replica of the operator renews the Lease. */
import type { Cluster } from "../cluster/cluster.ts";
import { readLeader } from "../cluster/leader.ts";
import { operatorAbsent } from "./alerts.ts";
import { type Finding, failed, ok, unknown } from "./finding.ts";

const CHECK = "Leader";

/** Rejects with KubeError. */
export async function checkLeader(
  cluster: Cluster,
  namespace: string,
): Promise<readonly Finding[]> {
  const { kind, text } = await readLeader(cluster, namespace);
  if (kind === "Held") return [ok(CHECK, text)];
  if (kind === "Unreadable") return [unknown(CHECK, text)];
  const look = `kubectl get pods -n ${namespace}`;
  if (kind === "Lost") return [failed(CHECK, text, look), operatorAbsent()];
  return [
    unknown(
      CHECK,
      `${text}: it runs in another namespace, without leader election, or not at all`,
      `${look}; --operator-namespace names another namespace.`,
    ),
  ];
}
