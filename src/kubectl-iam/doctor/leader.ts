/** Whether a replica of the operator renews the Lease. */
import type { Cluster } from "../cluster/cluster.ts";
import { readLeader } from "../cluster/leader.ts";
import { type Finding, failed, ok, skipped } from "./finding.ts";

const CHECK = "Leader";

/** Rejects with KubeError. */
export async function checkLeader(
  cluster: Cluster,
  namespace: string,
): Promise<readonly Finding[]> {
  const { kind, text } = await readLeader(cluster, namespace);
  if (kind === "Held") return [ok(CHECK, text)];
  if (kind === "Unreadable") return [skipped(CHECK, text)];
  return [
    failed(
      CHECK,
      text,
      `kubectl get pods -n ${namespace}; if the operator runs in another namespace, name it with --operator-namespace.`,
    ),
  ];
}
