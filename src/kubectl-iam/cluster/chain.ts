/** Reads what an object needs: its account and its connection. */

import { readinessOf } from "../view/readiness.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, typeOf } from "./kinds.ts";
import { unlessForbidden } from "./read.ts";
import { refsOf } from "./relations.ts";
import { type Missing, unobserved } from "./wait.ts";
import { type Chain, whyDelayed, whyDelayedByReport } from "./why-delayed.ts";

/** Leaves out objects that cannot be read. Rejects with KubeError. */
export async function readChain({ kube }: Cluster, object: AnyObject): Promise<Chain> {
  const { namespace = "" } = object.metadata;
  const { serviceAccountRef } = refsOf(object);
  const account =
    serviceAccountRef &&
    (await unlessForbidden(
      kube.get(typeOf("ServiceAccount"), { namespace, name: serviceAccountRef.name }),
    ));
  const { connectionRef: ref } = refsOf((account as AnyObject | undefined) ?? object);
  const connection =
    ref &&
    (await unlessForbidden(
      kube.get(typeOf(ref.kind), {
        namespace: ref.kind === "Connection" ? namespace : "",
        name: ref.name,
      }),
    ));
  return { object, account: account as AnyObject, connection: connection as AnyObject };
}

const UNSEEN: Missing = { text: "waiting for the operator" };

/** Why the work on an object is not done; `unseen` if its statuses do not tell. Rejects with KubeError. */
export async function causeOfDelay(
  cluster: Cluster,
  object: AnyObject,
  unseen: Missing = UNSEEN,
): Promise<Missing> {
  return whyDelayed(await readChain(cluster, object)) ?? unseen;
}

/** Until the object is Ready in its present generation. Rejects with KubeError. */
export async function readinessMissing(
  cluster: Cluster,
  object: AnyObject,
): Promise<Missing | undefined> {
  const unseen = unobserved(object, object);
  if (unseen === undefined && readinessOf(object).ready === "True") return undefined;
  return unseen ?? causeOfDelay(cluster, object);
}

/** The same for a change that neither `spec.suspend` nor a plan holds up. */
export async function reportedCauseOfDelay(
  cluster: Cluster,
  object: AnyObject,
  unseen: Missing = UNSEEN,
): Promise<Missing> {
  return whyDelayedByReport(await readChain(cluster, object)) ?? unseen;
}
