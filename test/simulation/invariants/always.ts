/** What must hold after every event, whatever happened. */
import { leaseType } from "../../../src/kube/leader-election.ts";
import { SECOND } from "../../../src/util/time.ts";
import { treeAt } from "../api-server/tree.ts";
import type { CallRecord } from "../journal.ts";
import { OPERATOR_NAMESPACE } from "../places.ts";
import type { SimWorld } from "../sim-world.ts";
import { pairOf, type StoredApiKey, targetOf } from "./view.ts";

/** [S2] From the first Ready on, what consumers find works. */
export function gapOf(world: SimWorld, apiKey: StoredApiKey): string | undefined {
  const secret = targetOf(world, apiKey);
  const pair = secret && pairOf(secret);
  if (pair === undefined) return "consumers find no pair";
  const refusal = world.console.world.whyKeyIsRefused(pair.keyId);
  return refusal && `the key that consumers find is refused: ${refusal}`;
}

/** [S14] */
export function strayCall(world: SimWorld): string | undefined {
  const [call] = world.console.unknownCalls;
  return call && `called ${call}, which the API description does not show`;
}

const LEASE_MS = 15 * SECOND;

/** [S8] A change goes out only while the lease is held; judged by the lease as it is stored. */
export function unfenced(world: SimWorld, call: CallRecord): string | undefined {
  if (!call.mutating || !world.isElected || call.operation.endsWith(" leases")) return undefined;
  const lease = world.get(leaseType, "iam-operator", OPERATOR_NAMESPACE);
  const spec = treeAt(lease ?? {}, "spec");
  const renewed = Date.parse(String(spec.renewTime ?? ""));
  const age = world.kernel.now - renewed;
  if (spec.holderIdentity && age <= LEASE_MS) return undefined;
  return `${call.operation} was sent without a lease`;
}

/** [S13] Whether a text shows a secret, plain or in base64. */
export function leakIn(text: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => text.includes(secret) || text.includes(base64Of(secret)));
}

/** Without the last characters, which depend on what follows. */
function base64Of(secret: string): string {
  return Buffer.from(secret).toString("base64").slice(0, -4);
}
