/** The run over a ServiceAccount that is being deleted. Pure but for the time: it yields its effects. */

import { IamError } from "../../console/errors.ts";
import { endRun } from "../../reconciler/effects.ts";
import { firstFinding } from "../../reconciler/rules/outcome.ts";
import type { AccountEffectSet } from "./effects/effects.ts";
import { type FoundAccount, outcomeBeforeList, outcomeOf, withAccount } from "./rules/attempt.ts";
import { blockedByError } from "./rules/blocked.ts";
import {
  beforeCleanUp,
  beforeRead,
  cleanUpCall,
  consoleUnusable,
  type DeletionEnd,
  deletionWait,
  endAfter,
  endOfAttempt,
  endOfSearch,
  retryOrGiveUp,
} from "./rules/deletion.ts";
import { isAttemptListDue } from "./rules/issue-attempts.ts";
import { findCreated, findImported, leftToOwner } from "./rules/lost-account.ts";
import { isReadDue } from "./rules/read-schedule.ts";
import type {
  AccountEffects,
  AccountEnded,
  AccountSnapshot,
  WithAccount,
  WithAttempt,
} from "./rules/snapshot.ts";

type Run = AccountEffects<AccountEnded>;

/**
 * Promises:
 * - Nothing is cleaned up while an object uses the account, nor if the account belongs to another object.
 * - The object is released when the account is cleaned up in the console, or when the deadline of a failing cleanup is
 *   over (L6); an event then says what is left.
 *
 * Every effect can be repeated after a crash.
 */
export function* reconcileDeletion(start: AccountSnapshot, effects: AccountEffectSet): Run {
  const { account, attempt, spec } = start;
  if (account !== undefined) return yield* cleanUp({ ...start, account }, effects);
  if (attempt !== undefined) return yield* explainAttempt({ ...start, attempt }, effects);
  // The status may have been lost in a restore or an edit.
  return spec.saId === undefined
    ? yield* findLost(start, effects)
    : yield* findLostImport(start, spec.saId, effects);
}

function* cleanUp(start: WithAccount, effects: AccountEffectSet): Run {
  const { readNow } = effects;
  const known = yield* readForUsers(start, effects);
  const early = firstFinding(beforeRead, known, readNow().now);
  if (early !== undefined) return yield* conclude(known, early, effects);
  const { account, answer } = known;
  const s =
    answer === undefined
      ? yield* effects.tryGetAccount(known, { saId: account.saId })
      : { ...known, answer };
  if (s instanceof IamError) return yield* conclude(start, blockedByError(s), effects);
  const late = firstFinding(beforeCleanUp, s);
  if (late !== undefined) return yield* conclude(s, late, effects);
  const call = cleanUpCall(s, readNow().now);
  if (call.kind === "Blocked") return yield* conclude(s, call, effects);
  const how =
    call.kind === "DeleteAccount"
      ? yield* effects.deleteAccount(s, call)
      : yield* effects.revokePolicies(s, call);
  const end = how instanceof IamError ? blockedByError(how) : endAfter(how, s, readNow().now);
  return yield* conclude(s, end, effects);
}

/** ApiKeys that wait for an attempt to be explained use the account, and users that wait for the console wait for it. */
function* readForUsers(start: WithAccount, effects: AccountEffectSet): AccountEffects<WithAccount> {
  const { now } = effects.readNow();
  const isDue = start.usersAreBlocked ? isReadDue(start, now) : isAttemptListDue(start, now);
  if (!isDue || consoleUnusable(start) !== undefined) return start;
  const s = yield* effects.tryGetAccount(start, { saId: start.account.saId });
  return s instanceof IamError ? start : s;
}

/** The attempt may have created an account that is not known yet. */
function* explainAttempt(start: WithAttempt, effects: AccountEffectSet): Run {
  const { readNow } = effects;
  const early =
    deletionWait(start) ?? consoleUnusable(start) ?? outcomeBeforeList(start, readNow().now);
  if (early !== undefined) return yield* conclude(start, early, effects);
  const s = yield* effects.tryListAccounts(start);
  if (s instanceof IamError) return yield* conclude(start, blockedByError(s), effects);
  return yield* conclude(s, endOfAttempt(outcomeOf(s, readNow().now)), effects);
}

function* findLost(start: AccountSnapshot, effects: AccountEffectSet): Run {
  const early = consoleUnusable(start);
  if (early !== undefined) return yield* conclude(start, endOfSearch(early, start), effects);
  const s = yield* effects.tryListAccounts(start);
  return s instanceof IamError
    ? yield* conclude(start, endOfSearch(blockedByError(s), start), effects)
    : yield* conclude(s, endOfSearch(findCreated(s), s), effects);
}

function* findLostImport(start: AccountSnapshot, saId: string, effects: AccountEffectSet): Run {
  const early = consoleUnusable(start) ?? leftToOwner(saId, start);
  if (early !== undefined) return yield* conclude(start, endOfSearch(early, start), effects);
  const s = yield* effects.tryGetAccount(start, { saId });
  return s instanceof IamError
    ? yield* conclude(start, endOfSearch(blockedByError(s), start), effects)
    : yield* conclude(s, endOfSearch(findImported(s), s), effects);
}

/** Goes on with an account that was found. A failing cleanup is retried soon, until its deadline. */
function* conclude(
  s: AccountSnapshot,
  outcome: FoundAccount | DeletionEnd,
  effects: AccountEffectSet,
): Run {
  const { now } = effects.readNow();
  if (outcome.kind === "Found") return yield* cleanUp(withAccount(s, outcome, now), effects);
  if (outcome.kind !== "Blocked") return endRun(s, outcome);
  return endRun({ ...s, isCleanupBlocked: true }, retryOrGiveUp(outcome, s, now));
}
