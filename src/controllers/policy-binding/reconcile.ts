/**
 * Makes the policies bound to one service account what its PolicyBindings say.
 *
 * *Guarantees*: at most one PUT a pass (S10), made from a live and complete list of the account's
 * PolicyBindings and from an answer of the console in the same pass; nothing is unbound but what an existing
 * PolicyBinding has on record, or under `foreignPolicies: Remove` or `suspendAccess` (S11); what is merely
 * missing from a list causes nothing (S20); with nothing to do, no call (S18).
 *
 * *Order*: finalizer, intent (`status.appliedPolicyIds` grows), PUT, the account's record, end of deleted
 * objects, statuses (`appliedPolicyIds` shrinks). A crash between any two leaves policies accounted for by
 * an object that still exists, and the next pass starts over from what is true.
 */
import type { Readiness } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { IamClient } from "../../iam/client/client.ts";
import type { LiveBindings } from "../../iam/model.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Reconcile, Result, Run } from "../../runtime/result.ts";
import { HOUR, type Instant, MINUTE, parseInstant, SECOND, toIso8601 } from "../../util/time.ts";
import type { Context } from "../frame/context.ts";
import { requestToken } from "../frame/request-token.ts";
import { errorPolicy } from "../frame/rules/error-policy.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { tryReport } from "../frame/status-write-failed.ts";
import type { AccountRef } from "./account-store.ts";
import { apply, type Hands, recordApplied } from "./apply.ts";
import { believed, type Decision, decide, isActive, type Seen } from "./decide.ts";
import { type AccountMemory, newMemory, withRefusal } from "./memory.ts";
import { type Objects, observeCached, observeLive } from "./observe.ts";
import { type Action, type Cause, isIdle, letGo, mustAsk, type Plan, plan } from "./plan.ts";
import { contains, type PolicySet, sameSet, union, without } from "./policy-set.ts";
import { blame, isRefusal } from "./refusal.ts";
import {
  bindingReadiness,
  type Facts,
  nextBindingStatus,
  recordOutcome,
  reportBinding,
  tellForeign,
  tellLeftBound,
  tellSync,
  waitingReadiness,
} from "./report.ts";
import { contendedUntil, nextDriftCheck, recent } from "./schedule.ts";
import {
  type BindingView,
  type Problem,
  type Standing,
  toBindingView,
  toStanding,
} from "./view.ts";

/** How soon to look again while a cache has not seen our own last write; its event mostly comes first. */
const SETTLE_MS = SECOND;
/** A vanished foreign policy is believed when two answers this far apart agree. */
const CONFIRM_MS = 5 * SECOND;
/** A deletion that cannot revoke does not wait longer: with its account being deleted too, and without. */
const GIVE_UP_LEAVING_MS = 10 * MINUTE;
const GIVE_UP_MS = 24 * HOUR;
/** When a revocation that the console refused is tried again. */
const REFUSED_REVOCATION_MS = 5 * MINUTE;

export interface AccountBindingsReconciler {
  readonly reconcile: Reconcile<AccountRef>;
  /** To be called when neither the account nor a PolicyBinding of it is there any more. */
  readonly forget: (key: ObjectKey) => void;
}

export function createAccountBindingsReconciler(context: Context): AccountBindingsReconciler {
  const memories = new Map<string, { uid: string; memory: AccountMemory }>();
  /** Names of the PolicyBindings with a metric, by account key. */
  const reported = new Map<string, ReadonlySet<string>>();

  const remember = (key: ObjectKey, account: ServiceAccount): AccountMemory => {
    const known = memories.get(keyText(key));
    if (known?.uid === account.metadata.uid) return known.memory;
    const memory = newMemory(context.clock.now(), account.status?.lastHandledReconcileAt);
    memories.set(keyText(key), { uid: account.metadata.uid, memory });
    return memory;
  };
  const track = (key: ObjectKey, names: ReadonlySet<string>) => {
    for (const name of reported.get(keyText(key)) ?? []) {
      if (!names.has(name)) context.metrics.forgetObject("PolicyBinding", key.namespace, name);
    }
    if (names.size === 0) reported.delete(keyText(key));
    else reported.set(keyText(key), names);
  };

  return {
    reconcile: async (ref, pass) => {
      const key = keyOf(ref);
      const objects = observeCached(context, key);
      if (objects === undefined) return { requeueAfterMs: SETTLE_MS };
      track(key, new Set(objects.bindings.map(({ metadata }) => metadata.name)));
      if (objects.account === undefined) memories.delete(keyText(key));
      const memory = objects.account === undefined ? undefined : remember(key, objects.account);
      return await new AccountPass(context, key, memory, pass).run(objects);
    },
    forget: (key) => {
      memories.delete(keyText(key));
      track(key, new Set());
    },
  };
}

/** One account's situation: its standing and its bindings, from one reading of their objects. */
interface Situation {
  readonly objects: Objects;
  readonly standing: Standing;
  readonly client: IamClient | undefined;
  readonly bindings: readonly BindingView[];
}

/** One run for one account: holds what every step of it needs. */
class AccountPass {
  readonly #context: Context;
  readonly #key: ObjectKey;
  readonly #memory: AccountMemory | undefined;
  readonly #signal: AbortSignal;
  readonly #now: Instant;

  constructor(context: Context, key: ObjectKey, memory: AccountMemory | undefined, pass: Run) {
    this.#context = context;
    this.#key = key;
    this.#memory = memory;
    this.#signal = pass.signal;
    this.#now = context.clock.now();
  }

  async run(objects: Objects): Promise<Result> {
    const situation = await this.#judge(objects);
    try {
      return await this.#act(situation);
    } catch (error) {
      const failure = await this.#reportFailure(situation, error);
      const revoking = situation.bindings.some(({ stage, held }) => held && stage === "Revoking");
      if (!revoking || errorPolicy(failure).kind !== "Terminal") throw failure;
      // No change of the object is to be expected, and the deletion must end (L6).
      return { requeueAfterMs: REFUSED_REVOCATION_MS };
    }
  }

  async #judge(objects: Objects): Promise<Situation> {
    const found = toStanding(objects.account, this.#key.name);
    if (found.kind !== "Usable") {
      return { objects, standing: found, client: undefined, bindings: this.#views(objects) };
    }
    const lookup = await this.#context.connections.resolve(
      found.spec.connectionRef,
      this.#key.namespace,
    );
    if (!lookup.ok) {
      const { reason, message } = lookup;
      const standing: Standing = { kind: "Waiting", reason, message };
      return { objects, standing, client: undefined, bindings: this.#views(objects) };
    }
    const { client, grant } = lookup.access;
    const bindings = this.#views(objects, found.account.record.ours, grant.policyIds);
    return { objects, standing: found, client, bindings };
  }

  #views(
    { bindings }: Objects,
    recorded: readonly string[] = [],
    granted?: readonly string[],
  ): readonly BindingView[] {
    const views = bindings.map((binding) => toBindingView(binding, recorded, granted));
    const memory = this.#memory;
    return memory === undefined ? views : views.map((view) => withRefusal(memory, view, this.#now));
  }

  async #act(situation: Situation): Promise<Result> {
    const { standing, client } = situation;
    switch (standing.kind) {
      case "Gone":
        return await this.#withoutAccount(situation, standing.message);
      case "Leaving":
        return await this.#leave(situation);
      case "Waiting":
        return await this.#wait(situation, standing);
      default:
        if (client === undefined || this.#memory === undefined) return {};
        return await this.#sync(situation, client, this.#memory);
    }
  }

  /** No account, no call; but only the API server itself can tell that there is none (S20). */
  async #withoutAccount(situation: Situation, message: string): Promise<Result> {
    const settled = situation.bindings.every(
      ({ stage, applied }) => stage === "Live" && applied.length === 0,
    );
    const objects = settled
      ? situation.objects
      : await observeLive(this.#context, this.#key, this.#signal);
    if (objects.account !== undefined) return { requeueAfterMs: SETTLE_MS };
    const bindings = this.#views(objects);
    const hands = this.#hands(objects, undefined);
    const why = "There is no ServiceAccount to unbind them from.";
    await this.#release(hands, bindings, ["Revoking", "Releasing"], why);
    const waiting = { reason: "WaitingForServiceAccount", message };
    await this.#reportAll(hands, bindings, (binding) => ({
      readiness: waitingReadiness(binding, waiting),
      facts: { applied: [], foreign: [], verified: false, handled: false },
    }));
    return {};
  }

  /** The account's controller submits an empty list at the end, so that nothing is left to revoke here. */
  async #leave({ bindings, objects }: Situation): Promise<Result> {
    const hands = this.#hands(objects, undefined);
    for (const action of letGo(bindings, ["Revoking", "Releasing"])) await apply(action, hands);
    await this.#reportAll(hands, bindings, (binding) => ({
      readiness: waitingReadiness(binding, {
        reason: "ServiceAccountDeleting",
        message: "The ServiceAccount is being deleted and waits for its PolicyBindings to go.",
      }),
      facts: keep(binding),
    }));
    return {};
  }

  async #wait(
    { bindings, objects }: Situation,
    { reason, message, gone = false }: Extract<Standing, { kind: "Waiting" }>,
  ): Promise<Result> {
    const why: Problem = { reason, message };
    const hands = this.#hands(objects, undefined);
    await this.#release(hands, bindings, ["Releasing"], RELEASED);
    if (gone)
      await this.#release(hands, bindings, ["Revoking"], "The console has no such account.");
    const idle = bindings.filter(({ applied }) => applied.length === 0);
    for (const action of letGo(idle, ["Revoking"])) await apply(action, hands);
    const late = await this.#giveUp(hands, objects, bindings);
    await this.#reportAll(hands, bindings, (binding) => ({
      readiness: waitingReadiness(binding, why),
      facts: keep(binding),
    }));
    return late === undefined ? {} : { requeueAfterMs: late };
  }

  async #sync(situation: Situation, client: IamClient, memory: AccountMemory): Promise<Result> {
    const seen = this.#seen(situation, memory);
    if (seen === undefined) return {};
    const wish = wishOf(situation);
    const held = memory.hold?.wish === wish && this.#now < memory.hold.until;
    const due = this.#dueAt(memory, seen) <= this.#now;
    const requested = this.#isRequested(situation, memory);
    if (held && !requested) return this.#again(memory, seen);
    if (!requested && !due && !mustAsk(seen)) return await this.#rest(situation, seen, memory);
    // An account that no PolicyBinding names is none of our business.
    if (seen.bindings.length === 0 && !seen.account.suspendAccess) {
      return await this.#rest(situation, seen, memory);
    }

    const live = await client.listBindings(seen.account.tpn, this.#signal);
    if (!this.#isConfirmed(seen, live, memory)) return { requeueAfterMs: CONFIRM_MS };
    return await this.#settle(situation, client, memory, live);
  }

  /** Nothing to ask the console: deleted objects go, statuses follow. */
  async #rest(situation: Situation, seen: Seen, memory: AccountMemory): Promise<Result> {
    const decision = decide(seen);
    const todo: Plan = { before: [], after: plan(seen, decision, "WishChanged").after };
    const hands = this.#hands(situation.objects, undefined);
    await this.#finish(situation, hands, seen, todo, {
      decision,
      verified: false,
      readable: undefined,
    });
    memory.isolating = memory.isolating && decision.postponed.size > 0;
    return this.#again(memory, seen);
  }

  /** Decides on what the caches hold; if anything is to be done, decides again on what the server holds. */
  async #settle(
    situation: Situation,
    client: IamClient,
    memory: AccountMemory,
    live: LiveBindings,
  ): Promise<Result> {
    const first = this.#decide(situation, memory, live);
    if (first === undefined) return {};
    if (isIdle(first.todo)) return await this.#carryOut(situation, client, memory, live, first);
    const objects = await observeLive(this.#context, this.#key, this.#signal);
    const fresh = await this.#judge(objects);
    if (objects.account?.metadata.uid !== situation.objects.account?.metadata.uid) {
      return { requeueAfterMs: SETTLE_MS };
    }
    const second = this.#decide(fresh, memory, live);
    if (second === undefined) return { requeueAfterMs: SETTLE_MS };
    return await this.#carryOut(fresh, client, memory, live, second);
  }

  #decide(situation: Situation, memory: AccountMemory, live: LiveBindings): Choice | undefined {
    const base = this.#seen(situation, memory);
    if (base === undefined) return undefined;
    const seen: Seen = { ...base, live };
    const decision = decide(seen);
    const drifted = decision.sync !== undefined && !mustAsk(base);
    // The kill switch is never held back.
    const until =
      drifted && !seen.account.suspendAccess
        ? contendedUntil(memory.corrections, this.#now)
        : undefined;
    const final = until === undefined ? decision : contended(decision, live, until);
    const cause: Cause = drifted ? "DriftFound" : "WishChanged";
    return { seen, decision: final, cause, todo: plan(seen, final, cause), until };
  }

  async #carryOut(
    situation: Situation,
    client: IamClient,
    memory: AccountMemory,
    live: LiveBindings,
    { seen, decision, cause, todo, until }: Choice,
  ): Promise<Result> {
    const hands = this.#hands(situation.objects, client);
    const before = live.readable ? live.policyIds : believedIds(seen);
    try {
      for (const action of todo.before) await apply(action, hands);
    } catch (error) {
      const newcomers = newcomersOf(seen, decision, before);
      if (!isRefusal(error) || newcomers.length === 0) throw error;
      await this.#takeBack(hands, todo.before, seen.bindings);
      const { orgId } = seen.account;
      await blame(memory, client, orgId, newcomers, before, error, this.#now, this.#signal);
      this.#context.log.warn(
        { ...this.#key, reason: "PolicyRefused", err: error },
        "console refused a list of policies",
      );
      return { requeueAfterMs: 1 };
    }
    if (decision.sync !== undefined) this.#tell(situation, seen, before, decision, cause, memory);
    memory.lookedAt = this.#now;
    memory.handledToken = tokenOf(situation.objects.account);
    memory.isolating = decision.postponed.size > 0;
    memory.hold =
      decision.hold === undefined
        ? undefined
        : { wish: wishOf(situation), until: until ?? this.#dueAt(memory, seen) };
    if (decision.hold !== undefined) await this.#giveUp(hands, situation.objects, seen.bindings);
    await this.#finish(situation, hands, seen, todo, {
      decision,
      verified: decision.hold === undefined && (live.readable || decision.sync !== undefined),
      readable: live.readable,
    });
    return decision.postponed.size > 0 ? { requeueAfterMs: 1 } : this.#again(memory, seen);
  }

  /** The account's record, the end of deleted objects, then every status. */
  async #finish(
    situation: Situation,
    hands: Hands,
    seen: Seen,
    todo: Plan,
    outcome: Parameters<typeof recordOutcome>[2],
  ): Promise<void> {
    const { account } = situation.objects;
    if (account === undefined) return;
    const { decision, verified } = outcome;
    const hasSay = seen.bindings.length > 0 || seen.account.suspendAccess;
    if (hasSay) await recordOutcome(this.#context, account, outcome, this.#now, this.#signal);
    if (verified) tellForeign(this.#context, account, seen.account, decision.foreign);
    for (const action of todo.after) {
      if (action.kind === "RemoveFinalizer" && action.because === "Released") {
        this.#sayLeft(hands, seen.bindings, action.uid, RELEASED);
      }
      await apply(action, hands);
    }
    await this.#reportAll(hands, seen.bindings, (binding) => ({
      readiness: bindingReadiness(seen.account, binding, decision),
      facts: {
        applied: decision.shares.get(binding.uid) ?? binding.applied,
        foreign: decision.foreign,
        verified,
        handled: true,
      },
    }));
  }

  #tell(
    { objects }: Situation,
    seen: Seen,
    before: PolicySet,
    { sync = [] }: Decision,
    cause: Cause,
    memory: AccountMemory,
  ): void {
    const { account } = objects;
    if (account === undefined) return;
    const bound = without(sync, before);
    const unbound = without(before, sync);
    const reason = seen.account.suspendAccess
      ? "AccessSuspended"
      : cause === "DriftFound"
        ? "DriftCorrected"
        : "PoliciesSynced";
    if (cause === "DriftFound") {
      memory.corrections = [...recent(memory.corrections, this.#now), this.#now];
      this.#context.metrics.driftCorrections.inc();
    }
    tellSync(this.#context, account, reason, bound, unbound);
    this.#context.log.info({ ...this.#key, reason, bound, unbound }, "synced policy bindings");
  }

  /** The console took nothing of a refused list, so that the intents are void. */
  async #takeBack(
    hands: Hands,
    actions: readonly Action[],
    bindings: readonly BindingView[],
  ): Promise<void> {
    const applied = new Map(bindings.map((binding) => [binding.uid, binding.applied]));
    for (const action of actions) {
      if (action.kind !== "RecordIntent") continue;
      await recordApplied(hands, action.uid, applied.get(action.uid) ?? []);
    }
  }

  /**
   * F30: an answer that lacks foreign policies which were there is asked for again before it is believed. A
   * partial answer would otherwise unbind, at the next PUT, what it failed to mention.
   */
  #isConfirmed({ account }: Seen, live: LiveBindings, memory: AccountMemory): boolean {
    const missing =
      live.readable && account.foreignPolicies === "Keep" && !account.suspendAccess
        ? without(account.record.foreign, live.policyIds)
        : [];
    const earlier = memory.vanished;
    if (missing.length === 0) {
      memory.vanished = undefined;
      return true;
    }
    if (earlier !== undefined && sameSet(earlier.ids, missing)) {
      return this.#now - earlier.since >= CONFIRM_MS;
    }
    memory.vanished = { ids: missing, since: this.#now };
    return false;
  }

  async #release(
    hands: Hands,
    bindings: readonly BindingView[],
    stages: readonly BindingView["stage"][],
    why: string,
  ): Promise<void> {
    for (const action of letGo(bindings, stages)) {
      if (action.kind === "RemoveFinalizer") this.#sayLeft(hands, bindings, action.uid, why);
      await apply(action, hands);
    }
  }

  #sayLeft(hands: Hands, bindings: readonly BindingView[], uid: string, why: string): void {
    const object = hands.objects.get(uid);
    const view = bindings.find((binding) => binding.uid === uid);
    if (object !== undefined) tellLeftBound(this.#context, object, view?.applied ?? [], why);
  }

  /** L6: lets go of what could not be revoked for too long, and says so; answers when the next is due. */
  async #giveUp(
    hands: Hands,
    { account }: Objects,
    bindings: readonly BindingView[],
  ): Promise<number | undefined> {
    const limit =
      account?.metadata.deletionTimestamp === undefined ? GIVE_UP_MS : GIVE_UP_LEAVING_MS;
    const waits = bindings
      .filter(({ stage, uid }) => stage === "Revoking" && hands.objects.has(uid))
      .map((binding) => ({
        binding,
        left: (parseInstant(binding.deletedAt) ?? this.#now) + limit - this.#now,
      }));
    const late = waits.filter(({ left }) => left <= 0).map(({ binding }) => binding);
    await this.#release(hands, late, ["Revoking"], "The console could not be told in time.");
    const pending = waits.filter(({ left }) => left > 0).map(({ left }) => left);
    return pending.length === 0 ? undefined : Math.min(...pending);
  }

  async #reportAll(
    hands: Hands,
    bindings: readonly BindingView[],
    say: (binding: BindingView) => {
      readonly readiness: Parameters<typeof nextBindingStatus>[3];
      readonly facts: Facts;
    },
  ): Promise<void> {
    for (const binding of bindings) {
      const object = hands.objects.get(binding.uid);
      if (object === undefined || (binding.stage !== "Live" && !binding.held)) continue;
      const { readiness, facts } = say(binding);
      const status = nextBindingStatus(object, binding, facts, readiness, this.#now);
      await reportBinding(this.#context, object, status, this.#signal);
    }
  }

  /** Says on every object of the account why the pass failed, and answers the error for the queue. */
  async #reportFailure({ bindings }: Situation, error: unknown): Promise<unknown> {
    const readiness = failureReadiness(error);
    if (readiness === undefined || this.#signal.aborted) return error;
    const problems = new Map(bindings.map(({ uid, problem }) => [uid, problem]));
    return tryReport(error, () => this.#reportAsFailed(problems, readiness), this.#context.log);
  }

  async #reportAsFailed(
    problems: ReadonlyMap<string, Problem | undefined>,
    readiness: Readiness,
  ): Promise<void> {
    // Intents may have been written meanwhile: what the server holds is built upon.
    const objects = await observeLive(this.#context, this.#key, this.#signal);
    const fresh = new Map(objects.bindings.map((binding) => [binding.metadata.uid, binding]));
    const hands = { ...this.#hands(objects, undefined), objects: fresh };
    const current = this.#views(objects);
    await this.#giveUp(hands, objects, current);
    await this.#reportAll(hands, current, (binding) => {
      const problem = problems.get(binding.uid) ?? binding.problem;
      const own = binding.suspended || problem !== undefined;
      return {
        readiness: own ? waitingReadiness({ ...binding, problem }, readiness) : readiness,
        facts: keep(binding),
      };
    });
  }

  #seen({ standing, bindings }: Situation, memory: AccountMemory): Seen | undefined {
    if (standing.kind !== "Usable") return undefined;
    const { account } = standing;
    return { account, bindings, live: believed(account), isolating: memory.isolating };
  }

  #dueAt(memory: AccountMemory, { account }: Seen): Instant {
    return nextDriftCheck(account.uid, memory.lookedAt, memory.corrections, this.#now);
  }

  #again(memory: AccountMemory, seen: Seen): Result {
    if (seen.bindings.length === 0 && !seen.account.suspendAccess) return {};
    const until = Math.max(this.#dueAt(memory, seen), memory.hold?.until ?? 0);
    return { requeueAfterMs: Math.max(SECOND, until - this.#now) };
  }

  #isRequested({ objects, bindings }: Situation, memory: AccountMemory): boolean {
    const token = tokenOf(objects.account);
    return (
      (token !== undefined && token !== memory.handledToken) ||
      bindings.some(
        ({ requestedAt, handledAt }) => requestedAt !== undefined && requestedAt !== handledAt,
      )
    );
  }

  #hands({ bindings }: Objects, client: IamClient | undefined): Hands {
    return {
      context: this.#context,
      client,
      objects: new Map<string, PolicyBinding>(
        bindings.map((binding) => [binding.metadata.uid, binding]),
      ),
      signal: this.#signal,
    };
  }
}

/** A decision with what is needed to carry it out and to tell of it. */
interface Choice {
  readonly seen: Seen;
  readonly decision: Decision;
  readonly cause: Cause;
  readonly todo: Plan;
  /** Drift is not corrected before then. */
  readonly until: Instant | undefined;
}

const RELEASED = "The PolicyBinding is gone without revoking.";

function keep({ applied }: BindingView): Facts {
  return { applied, foreign: undefined, verified: false, handled: false };
}

function believedIds({ account, bindings }: Seen): readonly string[] {
  const { ours = [], foreign } = account.record;
  return union(ours, foreign, ...bindings.map(({ applied }) => applied));
}

function tokenOf(account: ServiceAccount | undefined): string | undefined {
  return account && requestToken(account.metadata, annotations.reconcileRequestedAt);
}

/** Everything a person has asked for, as text: a hold ends when it changes. */
function wishOf({ objects, bindings }: Situation): string {
  return JSON.stringify([
    objects.account?.metadata.generation,
    bindings.map(({ uid, generation, stage, problem }) => [uid, generation, stage, problem]),
  ]);
}

function contended(decision: Decision, live: LiveBindings, until: Instant): Decision {
  return {
    ...decision,
    sync: undefined,
    bound: live.readable ? live.policyIds : decision.bound,
    hold: {
      reason: "Contended",
      message: `Somebody keeps changing the policies of this account back: 5 corrections within an hour. The next one is not before ${toIso8601(until)}.`,
    },
  };
}

/** Whose new policies a PUT would have bound for the first time. */
function newcomersOf(
  { bindings }: Seen,
  { postponed, sync }: Decision,
  before: PolicySet,
): readonly BindingView[] {
  if (sync === undefined) return [];
  return bindings.filter(
    (one) => isActive(one) && !postponed.has(one.uid) && !contains(before, one.policyIds),
  );
}
