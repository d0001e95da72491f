/** The next effect for a usable account. Pure. */

import { isRevocationSubmitted } from "../../../accounts/revocation-proof.ts";
import { FINALIZER } from "../../../api/meta.ts";
import { firstFinding, type Settled, type Waiting } from "../../../reconciler/rules/outcome.ts";
import { isPaused, isToBeAsked, untilAsked } from "./asking.ts";
import {
  type Choice,
  choose,
  hasSay,
  isUnread,
  takingPart,
  type UsableSnapshot,
} from "./choose.ts";
import { newPolicies } from "./decide.ts";
import { contains, type PolicySet, sameSet, union, without } from "./policy-set.ts";
import { quiet } from "./quiet.ts";
import { recordOf } from "./record.ts";
import { endOfWait, release, releaseLate } from "./release.ts";
import type { BindingsAction, BindingsDone, BindingsSnapshot, Intent } from "./snapshot.ts";
import { CONFIRM_MS, isConfirmed, vanishedBy } from "./vanished.ts";
import type { BindingView } from "./views.ts";

interface BindingsStep {
  readonly snapshot: UsableSnapshot;
  readonly done: BindingsDone;
  readonly choice: Choice;
}

type Finding = BindingsAction | Waiting | undefined;

export function nextOfUsable(
  snapshot: UsableSnapshot,
  done: BindingsDone,
): BindingsAction | Waiting | Settled {
  const step = { snapshot, done, choice: choose(snapshot) };
  return firstFinding(RULES, step) ?? { kind: "Settled" };
}

const RULES: readonly ((step: BindingsStep) => Finding)[] = [
  handleRefusal,
  giveUpAfterFailure,
  pause,
  ask,
  confirm,
  readLive,
  addFinalizers,
  recordIntents,
  sync,
  giveUpWhereBlocked,
  record,
  releaseRevoked,
  releaseRetained,
];

/**
 * A rejected list changed nothing, so the intents are taken back first. Then the rejection is attributed to objects.
 */
function handleRefusal({ snapshot, done, choice }: BindingsStep): Finding {
  const { refusal, refusalAttributed } = done;
  if (refusal === undefined) return undefined;
  const intents = snapshot.bindings
    .filter((each) => !sameSet(appliedNow(each, snapshot), each.applied))
    .map(({ uid, applied }): Intent => ({ uid, policyIds: applied }));
  if (intents.length > 0) return { kind: "WriteIntents", intents };
  if (refusalAttributed) return quiet(1);
  const { before } = choice;
  return { kind: "AttributeRefusal", refusal, suspects: suspectsOf(choice), before };
}

/** The operator tried to revoke the policies and failed: overdue deletions are released. */
function giveUpAfterFailure({ snapshot, done }: BindingsStep): Finding {
  return snapshot.state.hasFailed ? releaseLate({ snapshot, done }) : undefined;
}

/** Before a deletion is given up, the operator tries once more. */
function pause({ snapshot, done }: BindingsStep): Finding {
  const isPauseOver = !isPaused(snapshot) || releaseLate({ snapshot, done }) !== undefined;
  if (snapshot.live !== undefined || isPauseOver) return undefined;
  const { afterMs = Number.POSITIVE_INFINITY } = endOfWait(snapshot);
  return quiet(Math.min(untilAsked(snapshot, snapshot.state), afterMs));
}

function ask({ snapshot, choice }: BindingsStep): Finding {
  if (snapshot.live !== undefined || !isToBeAsked(snapshot, choice.input)) return undefined;
  return { kind: "ListBindings" };
}

function confirm({ snapshot: { availability, live, state, now } }: BindingsStep): Finding {
  if (live === undefined) return undefined;
  const vanished = vanishedBy(availability.account, live, state.vanished, now);
  return isConfirmed(vanished, now) ? undefined : quiet(CONFIRM_MS);
}

/** The caches only show that something must be done; the decision is made on the objects of the API server. */
function readLive(step: BindingsStep): Finding {
  if (step.snapshot.source === "Server") return undefined;
  const effects = [addFinalizers, recordIntents, sync, releaseRevoked, releaseRetained];
  return firstFinding(effects, step) && { kind: "ReadLive" };
}

/** Runs before anything is bound, so that a deletion cannot finish before its policies are unbound. */
function addFinalizers({ snapshot, choice }: BindingsStep): Finding {
  const uids = takingPart(choice)
    .map(({ uid }) => uid)
    .filter((uid) => !snapshot.objects.get(uid)?.metadata.finalizers?.includes(FINALIZER));
  return uids.length === 0 ? undefined : { kind: "AddFinalizers", uids };
}

function recordIntents({ snapshot, choice }: BindingsStep): Finding {
  const intents = takingPart(choice).flatMap((binding): readonly Intent[] => {
    const applied = appliedNow(binding, snapshot);
    return contains(applied, binding.policyIds)
      ? []
      : [{ uid: binding.uid, policyIds: union(applied, binding.policyIds) }];
  });
  return intents.length === 0 ? undefined : { kind: "WriteIntents", intents };
}

function sync({ done, choice }: BindingsStep): Finding {
  const { decision, isDrift, before } = choice;
  if (done.synced !== undefined || decision.sync === undefined) return undefined;
  return {
    kind: "SyncBindings",
    policyIds: decision.sync,
    ours: decision.ours,
    before,
    reason: reasonOf(choice),
    isDrift,
    reappeared: decision.reappeared,
    suspects: suspectsOf(choice),
  };
}

function reasonOf({ input, decision, isDrift }: Choice) {
  if (decision.reappeared.length > 0) return "PoliciesReappeared";
  if (input.account.accessRevoked) return "AccessRevoked";
  return isDrift ? "DriftCorrected" : "PoliciesSynced";
}

function giveUpWhereBlocked({ snapshot, done, choice }: BindingsStep): Finding {
  return choice.decision.blocked === undefined ? undefined : releaseLate({ snapshot, done });
}

function record({ snapshot, done, choice }: BindingsStep): Finding {
  const { bindings: stored } = snapshot.account.status ?? {};
  const isOver = stored?.unansweredSync !== undefined || isRevocationSubmitted(stored);
  if (done.recorded || !(hasSay(snapshot) || isOver)) return undefined;
  const bindings = recordOf(snapshot, choice, done);
  return bindings && { kind: "RecordBindings", bindings, foundForeign: foundForeign(choice) };
}

function releaseRevoked({ snapshot, done, choice }: BindingsStep): Finding {
  if (choice.decision.blocked !== undefined) return undefined;
  return release(snapshot, isUnread(snapshot, done) ? "Unconfirmed" : "Revoked", ["Revoking"]);
}

function releaseRetained({ snapshot }: BindingsStep): Finding {
  return release(snapshot, "Retained", ["Releasing"]);
}

/** Objects with policies that the PUT binds for the first time. */
function suspectsOf({ input, decision, before }: Choice): readonly BindingView[] {
  return newPolicies(input.bindings, before).filter(({ uid }) => !decision.postponed.has(uid));
}

/** Foreign policies that the record does not contain yet. */
function foundForeign({ input, decision, verified }: Choice): PolicySet {
  const { record: known, foreignPolicies } = input.account;
  if (!verified || foreignPolicies === "Remove" || known.ours === undefined) return [];
  return without(decision.foreign, known.foreign);
}

/** The object's recorded policies after this run's writes. */
function appliedNow({ uid, applied }: BindingView, { objects }: BindingsSnapshot): PolicySet {
  return objects.get(uid)?.status?.appliedPolicyIds ?? applied;
}
