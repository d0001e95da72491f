/** Disables and deletes keys in the console. */

import { LISTING_LAG_MS } from "../../../accounts/listing-lag.ts";
import { lookUpAccount } from "../../../accounts/look-up.ts";
import { readEffect } from "../../../accounts/read-effect.ts";
import type { IamClient } from "../../../console/client/client.ts";
import type { IamReader } from "../../../console/client/reader.ts";
import { IamError, isIamError } from "../../../console/errors.ts";
import { endEffect, notApplied, type ShownKey, shownKey } from "../../../console/evidence.ts";
import type { Answered } from "../../../reconciler/effects.ts";
import type { Instant } from "../../../util/time.ts";
import { accountInUse } from "../rules/accounts.ts";
import type { ApiKeyKind, ApiKeyReading, ApiKeySnapshot, ReadyAccount } from "../rules/snapshot.ts";
import type { KeyStatus } from "../rules/status.ts";
import { type KeyEnd, withEndedKey } from "../rules/transitions.ts";
import { about, keyEffect, readyAccount } from "./define.ts";

interface EndKey {
  readonly call: CallToEnd;
  readonly keyId: string;
}
type CallToEnd = "disableKey" | "deleteKey";

/**
 * Disables or deletes a key with a call that the connection defines; a read after the call shows whether it took effect.
 * A key that no longer exists counts as deleted. A failure of the console is recorded, so that the same run can continue
 * with the other keys.
 */
export function endKey(call: CallToEnd) {
  return keyEffect<{ readonly keyId: string }>({
    kind: KINDS[call],
    call: async ({ keyId }, snapshot, run) => {
      const action = { call, keyId };
      const ended = await orError(async () => {
        const { session, saId } = accountOfKey(action, snapshot);
        const client = run.console(session);
        const found = await findKey(action, snapshot, client, run);
        if (found === "Gone") return GONE;
        const wasListed = found === "Listed";
        const answeredCall = await callToEnd(action, wasListed, client, saId);
        const wasShown = wasListed || isShownDisabled(action, snapshot);
        return readEnd({ ...action, answeredCall, wasShown }, snapshot, client, run);
      });
      return withEnd(snapshot, keyId, ended, run);
    },
    planned: async ({ keyId }, snapshot, run) => {
      const action = { call, keyId };
      const { session, saId } = accountOfKey(action, snapshot);
      const found = await orError(() => findKey(action, snapshot, run.console(session), run));
      if (found instanceof IamError) return withEnd(snapshot, keyId, found, run);
      if (found === "Gone") return withEnd(snapshot, keyId, GONE, run);
      const { end, line } = plannedEnd(action, saId);
      return { ...withEnd(snapshot, keyId, end, run), line };
    },
  });
}

const KINDS = { disableKey: "DisableKey", deleteKey: "DeleteKey" } as const;
const GONE: KeyEnd = { state: "Deleted" };

function withEnd(
  snapshot: ApiKeySnapshot,
  keyId: string,
  ended: KeyEnd | IamError,
  { clock }: Pick<ApiKeyReading, "clock">,
): Answered<ApiKeyKind, ApiKeySnapshot> {
  if (ended instanceof IamError) {
    const failedRevocations = new Map(snapshot.failedRevocations).set(keyId, ended);
    return { answer: { ...snapshot, failedRevocations } };
  }
  const { state, answeredCall } = ended;
  const event =
    state === "Unknown"
      ? about(
          snapshot,
          "OutcomeUnconfirmed",
          "Retire",
          `The console answered ${answeredCall} for key ${keyId} with success, but does not show whether the key still works.`,
        )
      : about(
          snapshot,
          `Key${state}`,
          "Retire",
          `Key ${keyId} is ${state.toLowerCase()} in the console.`,
        );
  const status = withEndedKey(snapshot.status, keyId, ended, clock.now());
  return { answer: { ...snapshot, status }, events: [event] };
}

function plannedEnd({ call, keyId }: EndKey, saId: string) {
  const [state, verb] =
    call === "disableKey" ? (["Disabled", "Disables"] as const) : (["Deleted", "Deletes"] as const);
  const message = `${verb} key ${keyId} of service account ${saId}.`;
  const end: KeyEnd = { state, answeredCall: call };
  return { end, line: { call, object: keyId, message } };
}

async function orError<Answer>(call: () => Promise<Answer>): Promise<Answer | IamError> {
  try {
    return await call();
  } catch (error) {
    if (isIamError(error)) return error;
    throw error;
  }
}

/**
 * Revokes only a key in the account's list, or a key that was disabled before, which a console may omit from its list.
 * Any other ID may come from a Secret that was written outside the operator. If the list lacks even the key in use, the
 * account in the path of the call is the only protection. A 404 for a listed key means that the path is wrong, not that
 * the key is deleted.
 */
async function findKey(
  action: EndKey,
  snapshot: ApiKeySnapshot,
  console: IamReader,
  { signal, clock }: Pick<ApiKeyReading, "signal" | "clock">,
): Promise<"Gone" | "Listed" | "Unlisted"> {
  const { keyId } = action;
  const { status } = snapshot;
  const account = accountOfKey(action, snapshot);
  const detail = await lookUpAccount(console, account.saId, signal);
  if (detail === undefined) return "Gone";
  if (detail.keyIds?.includes(keyId) === true) return "Listed";
  const isDisabled = status.superseded.some(
    (key) => key.keyId === keyId && (key.state === "Disabled" || key.answeredCall === "disableKey"),
  );
  if (isDisabled || isBlind(detail.keyIds, account, snapshot)) return "Unlisted";
  if (!provesGone(detail.keyIds, keyId, account, snapshot, clock.now())) throw unproven(action);
  return "Gone";
}

/** Whether a list of the account has shown that the key is disabled: such a list is not blind. */
function isShownDisabled({ keyId }: EndKey, { status }: ApiKeySnapshot): boolean {
  return status.superseded.some((key) => key.keyId === keyId && key.state === "Disabled");
}

/** The account of a key that the status lists. The key in use may belong to another one. */
function accountOfKey({ keyId }: EndKey, snapshot: ApiKeySnapshot): ReadyAccount {
  return readyAccount(
    snapshot,
    listedKeys(snapshot.status).find((key) => key.keyId === keyId),
  );
}

function listedKeys({ current, superseded }: KeyStatus) {
  return [...superseded, current].filter((key) => key !== undefined);
}

/**
 * Whether the list lacks a working key of the account, and so proves nothing about other keys. If the key in use belongs
 * to another account, the list proves something once the console has listed keys of this account.
 */
function isBlind(
  listed: readonly string[] | undefined,
  account: ReadyAccount,
  snapshot: ApiKeySnapshot,
  wasShown = false,
): boolean {
  const { current, superseded } = snapshot.status;
  if (accountInUse(snapshot) !== account) return !wasShown && account.listsKeys !== true;
  if (current?.verificationTime === undefined) return false;
  const isEnded = superseded.some(({ keyId }) => keyId === current.keyId);
  return !isEnded && listed?.includes(current.keyId) !== true;
}

/**
 * Whether a list without the key proves that the key is deleted: the console had time to list this key, and the list has
 * another key of the object, or the key in use belongs to another account.
 */
function provesGone(
  listed: readonly string[] = [],
  keyId: string,
  account: ReadyAccount,
  snapshot: ApiKeySnapshot,
  now: Instant,
): boolean {
  const keys = listedKeys(snapshot.status);
  const issueTime = keys.find((key) => key.keyId === keyId)?.issueTime ?? 0;
  if (now < issueTime + LISTING_LAG_MS) return false;
  return accountInUse(snapshot) !== account || keys.some((key) => listed.includes(key.keyId));
}

/** A list without the key shows that it has ended, unless the list lacks keys that work. */
async function readEnd(
  action: EndKey & { readonly answeredCall: CallToEnd; readonly wasShown: boolean },
  snapshot: ApiKeySnapshot,
  console: IamReader,
  run: Pick<ApiKeyReading, "signal" | "clock">,
): Promise<KeyEnd> {
  const { keyId, answeredCall, wasShown } = action;
  const account = accountOfKey(action, snapshot);
  const read = async () => {
    const detail = await lookUpAccount(console, account.saId, run.signal);
    return shownKey(detail, keyId, isBlind(detail?.keyIds, account, snapshot, wasShown));
  };
  const { effect, seen } = await readEffect(read, (shown) => endEffect(answeredCall, shown), run);
  if (effect === "NotShown")
    throw notApplied(answeredCall, `the console still lists key ${keyId} as valid`);
  return { state: effect === "Shown" ? stateShown(answeredCall, seen) : "Unknown", answeredCall };
}

function stateShown(answeredCall: CallToEnd, seen: ShownKey): KeyEnd["state"] {
  return answeredCall === "deleteKey" && seen === "Absent" ? "Deleted" : "Disabled";
}

function unproven({ call: operation, keyId }: EndKey): IamError {
  const message = `${operation}: the console's list of the account's keys lacks ${keyId}, which could belong to another account`;
  return new IamError("NotFound", message, { operation, sent: false });
}

/** Responses that reject disabling a key for good. The key may be disabled already, or deleted. */
const NEVER_DISABLED = new Set([
  "AlreadyExists",
  "InvalidArgument",
  "FailedPrecondition",
  "NotFound",
]);

/**
 * The call that was answered. If the console rejects disabling a key, the key is deleted at once, which would be the next
 * step anyway. A key that is not listed may be gone: then a 404 is an answer.
 */
async function callToEnd(
  { call, keyId }: EndKey,
  isListed: boolean,
  { disableKey, deleteKey }: IamClient,
  saId: string,
): Promise<CallToEnd> {
  const isGone = (error: unknown) => !isListed && isIamError(error, "NotFound");
  if (call === "disableKey") {
    try {
      await disableKey?.({ saId, keyId });
      return "disableKey";
    } catch (error) {
      const isRefused = isIamError(error) && NEVER_DISABLED.has(error.code);
      if (isGone(error) && deleteKey === undefined) return "disableKey";
      if (!isRefused || deleteKey === undefined) throw error;
    }
  }
  try {
    await deleteKey?.({ saId, keyId });
  } catch (error) {
    if (!isGone(error)) throw error;
  }
  return "deleteKey";
}
