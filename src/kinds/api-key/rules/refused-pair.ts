/** A key that is issued, and whose pair the API server does not store. Pure. */
import type { Readiness } from "../../../api/conditions.ts";
import { SECRET_REJECTED } from "../../../api/issuance.ts";
import { isRefusedWrite } from "../../../kube/errors.ts";
import type { Failed } from "../../../reconciler/rules/outcome.ts";
import { ended } from "../../../util/ended.ts";
import { describeStaged, isUnstaged, pairToDeliver } from "./delivery.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/** What no dry run has foreseen: the API server refuses a Secret that is to hold the pair of a new key. */
export function pairIsNotStored(
  snapshot: ApiKeySnapshot,
  { error, readiness: { state, message } }: Failed,
): Readiness | undefined {
  if (!isRefusedWrite(error)) return undefined;
  const told = describeUnstored(snapshot, ended(message));
  return told === undefined ? undefined : { state, reason: SECRET_REJECTED, message: told };
}

function describeUnstored(snapshot: ApiKeySnapshot, why: string): string | undefined {
  const { held } = snapshot;
  if (held !== undefined && isUnstaged(snapshot))
    return `Key ${held.pair.keyId} is issued, and its pair is stored nowhere yet: ${why} The operator keeps the pair in its memory and tries again; if the process ends first, the key is listed as orphaned.`;
  const pair = pairToDeliver(snapshot);
  return (
    pair &&
    `${describeStaged(pair, snapshot, why)} The operator keeps the pair there and tries again.`
  );
}
