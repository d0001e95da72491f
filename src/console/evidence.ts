/**
 * What the console's responses prove. Nothing else turns a response into a fact that a status, a condition, an event or
 * the plugin states: a call that was answered proves only that; what it changed is proven by a read. Pure.
 */

import { asSubmitted } from "../util/spelling.ts";
import { IamError, isIamError } from "./errors.ts";
import type { IamServiceAccount, IamServiceAccountDetail, LiveBindings } from "./model.ts";

/** Whether a read shows the effect of a call; `Unknown` if the console's answers do not show it either way. */
export type Effect = "Shown" | "NotShown" | "Unknown";

/**
 * Whether exactly these policies are bound. The console may spell those of `declared` in another way; the others are
 * as the console has listed them.
 */
export function syncEffect(
  live: LiveBindings,
  policyIds: readonly string[],
  declared: readonly string[],
): Effect {
  if (!live.readable) return "Unknown";
  const bound = asSubmitted(live.policyIds, declared);
  const shown = new Set([...live.policyIds, ...bound]);
  const isSame =
    policyIds.every((id) => shown.has(id)) && bound.every((id) => policyIds.includes(id));
  return isSame ? "Shown" : "NotShown";
}

/** Whether none of these policies is bound; absent: no policy at all. */
export function unbindEffect(live: LiveBindings, policyIds?: readonly string[]): Effect {
  if (!live.readable) return "Unknown";
  const left =
    policyIds === undefined
      ? live.policyIds
      : asSubmitted(live.policyIds, policyIds).filter((id) => policyIds.includes(id));
  return left.length === 0 ? "Shown" : "NotShown";
}

/** Whether an account is deleted, given what a complete read shows. A state other than active may be the deletion. */
export function accountEffect(shown: IamServiceAccount | undefined): Effect {
  if (shown === undefined) return "Shown";
  return shown.status === undefined || isActive(shown.status) ? "NotShown" : "Unknown";
}

/** What the console shows about a key: usable, ended, listed without a state, absent from a list, or nothing. */
export type ShownKey = "Active" | "Ended" | "Listed" | "Absent" | "Unknown";

/**
 * `undefined` for `detail`: the console no longer has the account. `isBlind`: the list lacks keys that work, so that
 * absence proves nothing.
 */
export function shownKey(
  detail: Pick<IamServiceAccountDetail, "keyIds" | "keyRecords"> | undefined,
  keyId: string,
  isBlind: boolean,
): ShownKey {
  if (detail === undefined) return "Absent";
  if (detail.keyIds === undefined) return "Unknown";
  if (!detail.keyIds.includes(keyId)) return isBlind ? "Unknown" : "Absent";
  const state = detail.keyRecords?.get(keyId)?.state;
  if (state === undefined) return "Listed";
  return state === "Active" ? "Active" : "Ended";
}

/** Accounts work only while they are active. */
function isActive(status: string): boolean {
  return status.trim().toLowerCase() === "active";
}

/** Whether a read after the call shows that a key does not work (disableKey) or does not exist (deleteKey). */
export function endEffect(call: "disableKey" | "deleteKey", shown: ShownKey): Effect {
  switch (shown) {
    case "Absent":
    case "Ended":
      return "Shown";
    case "Active":
      return "NotShown";
    case "Listed":
      return call === "deleteKey" ? "NotShown" : "Unknown";
    case "Unknown":
      return "Unknown";
  }
}

/** The failure of a call that was answered with success and whose effect a later read does not show. */
export function notApplied(operation: string, shown: string): IamError {
  const message = `${operation} was answered with success, but ${shown}`;
  return new IamError("ChangeNotApplied", message, { operation });
}

/** What an attempt to use a pair proves. `LetIn`: a 403 or 422 that any gateway can give; enough for nothing final. */
export type PairEvidence = "Accepted" | "LetIn" | "Rejected";

/** From the error of searchActions with the pair; `undefined` if the answer proves nothing. */
export function pairEvidence(error: unknown): PairEvidence | undefined {
  if (!isIamError(error)) return undefined;
  switch (error.code) {
    case "Unauthenticated":
      return "Rejected";
    case "PermissionDenied":
      return error.isPolicyDenied ? "Accepted" : "LetIn";
    case "InvalidArgument":
      return "LetIn";
    default:
      return undefined;
  }
}
