/** The run over a ServiceAccount, from top to bottom. Pure but for the time: it yields its effects. */
import { IamError } from "../../console/errors.ts";
import { endRun } from "../../reconciler/effects.ts";
import { hasFinalizer } from "../../reconciler/finalizers.ts";
import { firstFinding, type Waiting } from "../../reconciler/rules/outcome.ts";
import type { AccountEffectSet } from "./effects/effects.ts";
import { accountReadiness, judgeAnswer } from "./rules/account.ts";
import {
  type FoundAccount,
  outcomeBeforeList,
  outcomeOf,
  withAccount,
  withoutAttempt,
} from "./rules/attempt.ts";
import { decideCreation, newAccount, stopped } from "./rules/creation.ts";
import { consoleURLOf } from "./rules/desired-account.ts";
import { preconditions } from "./rules/preconditions.ts";
import { isConnectionListDue, isListDue, isReadDue } from "./rules/read-schedule.ts";
import { problemOf } from "./rules/readiness.ts";
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
 * - createServiceAccount is called once for each recorded attempt, in the run that has recorded it (S6). Later runs only
 *   find out what the call has done.
 * - No account is created while a list shows an account that may be the object's.
 * - Nothing is called while a precondition is not met, or if nothing is due (S18). Only an account that is known is
 *   still read without a grant.
 */
export function* reconcileAccount(start: AccountSnapshot, effects: AccountEffectSet): Run {
  const blocked = firstFinding(preconditions, start);
  const { account, attempt, spec } = start;
  if (blocked !== undefined)
    return account === undefined
      ? endRun(start, blocked)
      : yield* lookWithoutGrant({ ...start, account }, blocked, effects);
  if (account !== undefined) return yield* checkAccount({ ...start, account }, effects);
  if (spec.saId !== undefined) return yield* importAccount(start, spec.saId, effects);
  if (attempt !== undefined) return yield* explainAttempt({ ...start, attempt }, effects);
  return yield* createAccount(start, effects);
}

/** Reads what is due about a known account. */
function* checkAccount(start: WithAccount, effects: AccountEffectSet): Run {
  const { readNow } = effects;
  let s = start;
  if (isReadDue(s, readNow().now)) s = yield* effects.getAccount(s, { saId: s.account.saId });
  if (isListDue(s, readNow().now)) s = yield* effects.listAccounts(s);
  if (isConnectionListDue(s, readNow().now)) s = yield* effects.auditAccounts(s);
  const problem = problemOf(s);
  if (problem !== undefined) return endRun(s, problem);
  if (!hasFinalizer(s.object) && !s.spec.suspend)
    s = { ...(yield* effects.keepObject(s)), attempt: undefined };
  const readiness = accountReadiness(s.account);
  return endRun(s, readiness.state === "Ready" ? { kind: "Settled" } : readiness);
}

/** Whether the account still exists decides about its keys, its policies and the deletion of their objects. */
function* lookWithoutGrant(start: WithAccount, blocked: Waiting, effects: AccountEffectSet): Run {
  const { connection, account } = start;
  const isUngranted = !connection.ok && connection.ungranted !== undefined;
  const isSameConsole = account.consoleURL === consoleURLOf(start);
  if (!isUngranted || !isSameConsole || !isReadDue(start, effects.readNow().now))
    return endRun(start, blocked);
  const read = yield* effects.tryGetAccount(start, { saId: account.saId });
  return endRun(read instanceof IamError ? start : read, blocked);
}

function* importAccount(start: AccountSnapshot, saId: string, effects: AccountEffectSet): Run {
  const s = yield* effects.getAccount(start, { saId });
  const { account, finding } = judgeAnswer(s);
  return account === undefined
    ? endRun(s, finding)
    : yield* conclude(s, { kind: "Found", account, because: "Imported" }, effects);
}

/** An earlier run has recorded the attempt; it may have called createServiceAccount. */
function* explainAttempt(start: WithAttempt, effects: AccountEffectSet): Run {
  const known = outcomeBeforeList(start, effects.readNow().now);
  if (known !== undefined) return yield* conclude(start, known, effects);
  const s = yield* effects.listAccounts(start);
  const outcome = outcomeOf(s, effects.readNow().now) ?? stopped(s);
  return outcome === undefined
    ? yield* createAccount(s, effects)
    : yield* conclude(s, outcome, effects);
}

function* createAccount(start: AccountSnapshot, effects: AccountEffectSet): Run {
  const { listing } = start;
  const s = listing === undefined ? yield* effects.listAccounts(start) : { ...start, listing };
  const decision = decideCreation(s);
  if (decision.kind === "CloseAttempt")
    return yield* reconcileAccount(withoutAttempt(s, effects.readNow().now), effects);
  if (decision.kind !== "Create") return yield* conclude(s, decision, effects);
  const announced = yield* effects.recordAttempt(s);
  const { snapshot, error } = yield* effects.createAccount(announced, newAccount(announced));
  return error === undefined
    ? yield* reconcileAccount(snapshot, effects)
    : endRun(snapshot, { kind: "Failing", error });
}

/** Goes on with an account that was found. From then on, it must be cleaned up before the object is deleted. */
function* conclude(
  start: AccountSnapshot,
  outcome: FoundAccount | Waiting,
  effects: AccountEffectSet,
): Run {
  if (outcome.kind === "Waiting") return endRun(start, outcome);
  const s = yield* effects.keepObject(start);
  return yield* reconcileAccount(withAccount(s, outcome, effects.readNow().now), effects);
}
