/** Calls to the console about keys that exist: trying them, explaining lost answers, ending them. */
import type { IamClient } from "../../iam/client/client.ts";
import { isIamError } from "../../iam/errors.ts";
import { lookUpAccount } from "../look-up-account.ts";
import { momentOf, readyAccount, record, type Surroundings, tell } from "./effects.ts";
import { withoutAttempt } from "./issue.ts";
import { accountKeyOf } from "./observe.ts";
import type { Observed, SupersededKey } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import type { Action } from "./plan.ts";

/** Answers that a console gives only to an authentic pair. A 404 may come from a proxy that knows no pairs. */
const PROOF = new Set(["PermissionDenied", "InvalidArgument"]);

/** Tries the pair with call 13. Refused pairs are remembered with the time of the first refusal. */
export async function verifyPair(
  seen: Observed,
  pair: IssuedPair,
  around: Surroundings,
): Promise<Observed> {
  const { client } = readyAccount(seen, around);
  const { memory, context } = around;
  const { uid } = seen.self;
  const { now, monotonic } = momentOf(around);
  memory.update(uid, { triedAt: now });
  const accepted = await client.searchActions({ q: "a", pageSize: 1 }, pair, around.signal).then(
    () => true,
    (error: unknown) => {
      if (isIamError(error, "Unauthenticated")) return false;
      if (isIamError(error) && PROOF.has(error.code)) return true;
      throw error;
    },
  );
  if (!accepted) {
    const first = memory.of(uid).rejection;
    const rejection = first?.keyId === pair.keyId ? first : { keyId: pair.keyId, since: monotonic };
    memory.update(uid, { rejection });
    return { ...seen, rejection, triedAt: now, unprovenKeyId: pair.keyId };
  }
  memory.update(uid, { rejection: undefined });
  const { current } = seen.state;
  const proven = { ...seen, rejection: undefined, triedAt: now, provenKeyId: pair.keyId };
  return current?.keyId === pair.keyId && current.verificationTime === undefined
    ? {
        ...proven,
        state: { ...seen.state, current: { ...current, verificationTime: context.clock.now() } },
      }
    : proven;
}

/** One of the two looks at the account's keys after an unanswered issue. */
export async function readLeftovers(seen: Observed, around: Surroundings): Promise<Observed> {
  const { account, client } = readyAccount(seen, around);
  const { recovery } = seen;
  if (recovery === undefined) return seen;
  const detail = await lookUpAccount(client, account.saId, around.signal);
  // An account that is gone has no live keys.
  const keyIds = detail === undefined ? [] : detail.keyIds;
  if (recovery.firstRead !== undefined) return { ...seen, secondRead: { keyIds } };
  const { monotonic } = momentOf(around);
  const next = { ...recovery, firstRead: { at: monotonic, keyIds } };
  around.memory.update(seen.self.uid, { recovery: next });
  return { ...seen, recovery: next };
}

/** Ends an attempt in the status, with the keys that are lost by it. */
export async function closeAttempt(
  seen: Observed,
  { orphans, refund, because }: Extract<Action, { kind: "CloseAttempt" }>,
  around: Surroundings,
): Promise<Observed> {
  const { state, self } = seen;
  const next = {
    ...withoutAttempt(state, refund),
    orphaned: [...state.orphaned, ...orphans],
  };
  const recorded = await record({ ...seen, state: next }, { kind: "Rest" }, around);
  around.memory.update(self.uid, { recovery: undefined });
  if (state.attempt !== undefined)
    around.memory.settle(accountKeyOf(self, seen.spec), state.attempt.id);
  const lost = orphans.length > 0;
  tell(
    seen,
    around,
    lost ? "KeyOrphaned" : "AttemptClosed",
    "Recover",
    `Attempt ${state.attempt?.id} is closed: ${because}.`,
    lost ? "Warning" : "Normal",
  );
  const { log } = around.context;
  const { namespace, name } = self;
  const attempt = state.attempt?.id;
  const ids = orphans.map(({ keyId }) => keyId ?? "unknown");
  if (lost) log.error({ namespace, name, attempt, orphans: ids }, "key orphaned");
  else log.info({ namespace, name, attempt }, "attempt closed");
  const { secondRead: _, ...rest } = recorded;
  return { ...rest, state: next, recovery: undefined };
}

/**
 * Disables or deletes a key by a call that the connection names. A key that is gone counts as deleted. One that
 * the console will not end is noted, so that the others have their turn in the same pass.
 */
export async function endKey(
  seen: Observed,
  action: Extract<Action, { kind: "DisableKey" | "DeleteKey" }>,
  around: Surroundings,
): Promise<Observed> {
  const { keyId } = action;
  const state = await stateAfter(action, seen, around).catch((error: unknown) => {
    if (!isIamError(error)) throw error;
    return error;
  });
  if (typeof state !== "string")
    return { ...seen, unended: new Map([...(seen.unended ?? []), [keyId, state]]) };
  tell(
    seen,
    around,
    `Key${state}`,
    "Retire",
    `Key ${keyId} is ${state.toLowerCase()} at the console.`,
  );
  return { ...seen, state: { ...seen.state, superseded: ended(seen, keyId, state, around) } };
}

/** A path that the connection names wrongly answers 404 as well: it counts unless the account's list has the key. */
async function stateAfter(
  action: Extract<Action, { kind: "DisableKey" | "DeleteKey" }>,
  seen: Observed,
  around: Surroundings,
): Promise<"Disabled" | "Deleted"> {
  const { account, client } = readyAccount(seen, around);
  try {
    return await callToEnd(action, client.extra, account.saId);
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    const detail = await lookUpAccount(client, account.saId, around.signal);
    if (detail?.keyIds?.includes(action.keyId) === true) throw error;
    return "Deleted";
  }
}

/** Answers that say no to disabling a key for good; the key may be disabled already, or gone. */
const NEVER_DISABLED = new Set([
  "AlreadyExists",
  "InvalidArgument",
  "FailedPrecondition",
  "NotFound",
]);

/** A key that the console will not disable is deleted at once, which would be the next step anyway. */
async function callToEnd(
  { kind, keyId }: Extract<Action, { kind: "DisableKey" | "DeleteKey" }>,
  { disableKey, deleteKey }: IamClient["extra"],
  saId: string,
): Promise<"Disabled" | "Deleted"> {
  if (kind === "DisableKey") {
    try {
      await disableKey?.(saId, keyId);
      return "Disabled";
    } catch (error) {
      const isRefused = isIamError(error) && NEVER_DISABLED.has(error.code);
      if (!isRefused || deleteKey === undefined) throw error;
    }
  }
  await deleteKey?.(saId, keyId);
  return "Deleted";
}

/** The current key joins the superseded ones when the whole ApiKey goes. */
function ended(
  { state: { current, superseded } }: Observed,
  keyId: string,
  state: "Disabled" | "Deleted",
  around: Surroundings,
): readonly SupersededKey[] {
  if (superseded.some((key) => key.keyId === keyId))
    return superseded.map((key) => (key.keyId === keyId ? { ...key, state } : key));
  if (current?.keyId !== keyId) return superseded;
  const { issueTime, expirationTime } = current;
  return [
    ...superseded,
    { keyId, issueTime, expirationTime, supersededTime: momentOf(around).now, state },
  ];
}
