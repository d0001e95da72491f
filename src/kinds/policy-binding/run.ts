/** A run over one account and its PolicyBindings, from top to bottom. Pure: it yields its effects. */

import type { ServiceAccount } from "../../api/service-account.ts";
import { IamError } from "../../console/errors.ts";
import { endRun } from "../../reconciler/effects.ts";
import { SECOND } from "../../util/time.ts";
import { attributeRefusal, listBindings, syncBindings } from "./effects/console.ts";
import {
  addFinalizer,
  readObjects,
  recordBindings,
  removeFinalizer,
  writeIntent,
} from "./effects/objects.ts";
import {
  changesObjects,
  lackingFinalizer,
  missingIntents,
  type Sync,
  toSync,
  withoutIntents,
} from "./rules/changes.ts";
import {
  type Evaluation,
  evaluate,
  isUnread,
  isUsable,
  type UsableSnapshot,
} from "./rules/evaluate.ts";
import { union } from "./rules/policy-set.ts";
import { isReadDue, pauseOf } from "./rules/read-schedule.ts";
import { recordGone, recordOf, recordUnrevoked } from "./rules/record.ts";
import { endOfWait, isUnbound, lateRevocations, releasable, withoutKept } from "./rules/release.ts";
import type {
  BindingsEffects,
  BindingsEnded,
  BindingsSnapshot,
  ReleaseCause,
} from "./rules/snapshot.ts";
import { CONFIRM_MS, isConfirmed } from "./rules/vanished.ts";
import type { BindingView, UnavailableAccount } from "./rules/views.ts";
import { withoutReport } from "./rules/without-report.ts";

/** The watch event of the operator's own last write usually comes earlier. */
const CACHES_BEHIND = withoutReport(SECOND);

/**
 * Promises:
 * - At most one PUT per run (S10), decided on a live and complete list of the account's PolicyBindings and on an answer
 *   of the console in the same run.
 * - Only policies recorded by an existing PolicyBinding are unbound (S11). Exceptions: `foreignPolicies: Remove`,
 *   `access: Revoked`, withdrawn policies, and policies that an unanswered call has bound again.
 * - An object that is only missing from a list causes nothing (S20).
 * - If nothing must be done, no call is made (S18).
 *
 * After a crash between any two effects, an object that still exists accounts for every policy, and the next run starts
 * again from the actual state. The report writes the statuses at the end (`appliedPolicyIds` shrinks).
 */
export function* reconcileBindings(start: BindingsSnapshot): BindingsEffects<BindingsEnded> {
  if (start.source === "Behind") return endRun(start, CACHES_BEHIND);
  if (isUsable(start)) return yield* reconcileUsable(start);
  const { availability } = start;
  return availability.kind === "Unavailable"
    ? yield* reconcileUnavailable(start, availability)
    : endRun(start, CACHES_BEHIND);
}

function* reconcileUsable(start: UsableSnapshot): BindingsEffects<BindingsEnded> {
  let s = start;
  const isLate = lateRevocations(s).length > 0;
  // The operator tried to revoke the policies and failed.
  if (isLate && s.state.hasFailed) return endRun(yield* giveUp(s), withoutReport(1));
  const pause = pauseOf(s);
  if (pause !== undefined) return endRun(s, pause);
  if (isReadDue(s)) s = yield* listBindings(s);
  if (!isConfirmed(s)) return endRun(s, withoutReport(CONFIRM_MS));
  const evaluation = evaluate(s);
  if (s.source === "Caches" && changesObjects(s, evaluation)) return yield* decideOnServer(s);
  const isBlocked = evaluation.decision.blocked !== undefined;
  if (isLate && isBlocked) return endRun(yield* giveUp(s), withoutReport(1));
  return yield* carryOut(s, evaluation);
}

function* carryOut(start: UsableSnapshot, evaluation: Evaluation): BindingsEffects<BindingsEnded> {
  let s = start;
  for (const uid of lackingFinalizer(s, evaluation)) s = yield* addFinalizer(s, { uid });
  for (const intent of missingIntents(s, evaluation)) s = yield* writeIntent(s, intent);
  const sync = toSync(evaluation);
  if (sync !== undefined) {
    const synced = yield* syncBindings(s, sync);
    if (synced instanceof IamError) return yield* handleRefusal(s, sync, synced);
    s = { ...s, synced };
  }
  const record = recordOf(s, evaluation);
  if (record !== undefined) yield* recordBindings(s, record);
  if (evaluation.decision.blocked === undefined)
    s = yield* removeFinalizers(
      s,
      isUnread(s) ? "Unconfirmed" : "Revoked",
      releasable(s, "Revoking"),
    );
  s = yield* removeFinalizers(s, "Retained", releasable(s, "Releasing"));
  return endRun(s, { kind: "Settled" });
}

/** Nothing is bound or unbound for the account: only deleted objects are released. */
function* reconcileUnavailable(
  start: BindingsSnapshot,
  { state, reason, message, endsAs }: UnavailableAccount,
): BindingsEffects<BindingsEnded> {
  const isOver = start.bindings.every(
    ({ stage, applied }) => stage === "Live" && applied.length === 0,
  );
  // Only the API server can prove that the account does not exist (S20).
  if (endsAs === "AccountMissing" && !isOver && start.source === "Caches")
    return yield* decideOnServer(start);
  let s = start;
  // A console that lags may show the account again.
  if (endsAs === "AccountGone") {
    const gone = s.account && recordGone(s.account);
    if (gone !== undefined) {
      yield* recordBindings(s, gone);
      // What is left of a deleted object is recorded over the new record.
      if (s.bindings.some(({ stage }) => stage === "Revoking")) return endRun(s, withoutReport(1));
    }
    s = yield* leaveUnrevoked(s, endsAs, releasable(s, "Revoking"));
  }
  if (endsAs !== undefined)
    s = yield* removeFinalizers(s, endsAs, releasable(s, "Revoking", "Releasing"));
  s = yield* removeFinalizers(s, "Retained", releasable(s, "Releasing"));
  s = yield* removeFinalizers(s, "NothingBound", releasable(s, "Revoking").filter(isUnbound));
  s = yield* giveUp(s);
  return endRun(s, { kind: "Waiting", state, reason, message, ...endOfWait(s) });
}

/** The caches only show that something must be done; it is decided on the objects of the API server. */
function* decideOnServer(cached: BindingsSnapshot): BindingsEffects<BindingsEnded> {
  const { account } = cached;
  const s = yield* readObjects(cached);
  return isSame(s.account, account) ? yield* reconcileBindings(s) : endRun(s, CACHES_BEHIND);
}

/** The listed bindings belong to the account that the status named then; another account makes them invalid. */
function isSame(one: ServiceAccount | undefined, other: ServiceAccount | undefined): boolean {
  return one?.metadata.uid === other?.metadata.uid && one?.status?.tpn === other?.status?.tpn;
}

/** A rejected list changed nothing: the intents are taken back. Then the rejection is attributed to objects. */
function* handleRefusal(
  start: UsableSnapshot,
  { suspects, before }: Sync,
  refusal: IamError,
): BindingsEffects<BindingsEnded> {
  let s = start;
  for (const intent of withoutIntents(s)) s = yield* writeIntent(s, intent);
  yield* attributeRefusal(s, { refusal, suspects, before });
  return endRun(s, withoutReport(1));
}

/** Releases objects whose policies could not be revoked for too long. */
function* giveUp<S extends BindingsSnapshot>(start: S): BindingsEffects<S> {
  return yield* leaveUnrevoked(start, "GaveUp", lateRevocations(start));
}

/** Releases objects without revoking. Before that, the account records the policies, so that they are unbound later. */
function* leaveUnrevoked<S extends BindingsSnapshot>(
  start: S,
  because: ReleaseCause,
  left: readonly BindingView[],
): BindingsEffects<S> {
  const { account, bindings } = start;
  const policyIds = withoutKept(union(...left.map(({ applied }) => applied)), bindings);
  if (account !== undefined && policyIds.length > 0)
    yield* recordBindings(start, recordUnrevoked(account, policyIds));
  return yield* removeFinalizers(start, because, left);
}

function* removeFinalizers<S extends BindingsSnapshot>(
  start: S,
  because: ReleaseCause,
  bindings: readonly BindingView[],
): BindingsEffects<S> {
  let s = start;
  for (const { uid } of bindings) s = yield* removeFinalizer(s, { uid, because });
  return s;
}
