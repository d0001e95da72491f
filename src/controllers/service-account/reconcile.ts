import type { Readiness } from "../../api/conditions.ts";
import { API_VERSION } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Reconcile, Result } from "../../runtime/result.ts";
import { type Instant, MINUTE, SECOND } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import { originOf } from "../connection-origin.ts";
import type { Context } from "../frame/context.ts";
import { removeFinalizer } from "../frame/finalizers.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { tryReport } from "../frame/status-write-failed.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { lookUpAccount } from "../look-up-account.ts";
import { serviceAccountType } from "../resource-types.ts";
import { accountReadiness } from "./account.ts";
import { apply, FOREIGN_STATUS, type Progress } from "./apply.ts";
import { nextDeletionStep } from "./deletion-pass.ts";
import { findWinner, isClaimedByOther } from "./find-winner.ts";
import { attemptId } from "./marker.ts";
import type { Memory } from "./memory.ts";
import { type Known, observeCluster, observeListing } from "./observe.ts";
import {
  type Decision,
  type Look,
  lookFor,
  nextLookAt,
  plan,
  type Seen,
  type Situation,
} from "./plan.ts";
import { barriers, claimIsLost, firstFinding } from "./policies.ts";
import { nextStatus, notes, orSuspended } from "./report.ts";

/** A healthy account is looked at this often, an unhealthy one sooner. */
const LOOK_EVERY_MS = 10 * MINUTE;
const LOOK_SOON_MS = MINUTE;
const JITTER = 0.2;

export interface ServiceAccountController {
  readonly reconcile: Reconcile<ServiceAccount>;
  /** The object is gone: forgets what was kept about it. */
  onGone(key: ObjectKey): void;
}

/** What a pass over an object that stays came to. */
interface Outcome {
  readonly progress: Progress;
  readonly ready: Readiness | undefined;
  readonly requeueAfterMs: number;
}

export function createServiceAccountReconciler(context: Context): ServiceAccountController {
  const memories = new Map<string, Memory>();

  const remember = ({ metadata }: ServiceAccount): Memory => {
    const key = keyText({ namespace: metadata.namespace ?? "", name: metadata.name });
    const old = memories.get(key);
    const memory = old?.uid === metadata.uid ? old : { uid: metadata.uid };
    memories.set(key, memory);
    return memory;
  };

  return {
    reconcile: async (object, { signal }) => {
      const known = await observeCluster(object, remember(object), context);
      return known.deleting
        ? deletionPass(object, known, context, signal)
        : livingPass(object, known, context, signal);
    },
    onGone: (key) => {
      memories.delete(keyText(key));
      context.metrics.forgetObject("ServiceAccount", key.namespace, key.name);
    },
  };
}

async function livingPass(
  object: ServiceAccount,
  known: Known,
  context: Context,
  signal: AbortSignal,
): Promise<Result> {
  const start: Progress = { object, account: known.account, attempt: known.attempt };
  const { progress, ready, requeueAfterMs } = await attemptWork(known, start, context, signal);
  const { error } = progress;
  const said = error === undefined ? ready : failureReadiness(error);
  const write = async () =>
    said === undefined ? undefined : await report(known, progress, said, context, signal);
  if (error !== undefined) throw await tryReport(error, write, context.log);
  await write();
  return { requeueAfterMs };
}

/** Never rejects: a failure comes with how far the pass had got. */
async function attemptWork(
  known: Known,
  start: Progress,
  context: Context,
  signal: AbortSignal,
): Promise<Outcome> {
  try {
    return await work(known, start, context, signal);
  } catch (error) {
    return { progress: { ...start, error }, ready: undefined, requeueAfterMs: 0 };
  }
}

async function work(
  known: Known,
  start: Progress,
  context: Context,
  signal: AbortSignal,
): Promise<Outcome> {
  const { wish, lookup, memory } = known;
  const barrier = firstFinding(barriers, known);
  if (barrier !== undefined || !wish.ok || !lookup.ok) {
    return { progress: start, ready: barrier, requeueAfterMs: LOOK_SOON_MS };
  }
  const situation: Situation = { known, spec: wish.spec, access: lookup.access };
  const lost = await findLostClaim(situation, context);
  if (lost !== undefined) return { progress: start, ready: lost, requeueAfterMs: LOOK_EVERY_MS };

  const startTime = context.clock.now();
  const look = lookFor(situation, startTime);
  const seen = await carryOutLook(look, situation, signal);
  const isClaimed = (saId: string) => isClaimedByOther(saId, start.object, context);
  const newAttempt = attemptId(known.uid, context.random.id());
  const decision = plan(situation, seen, newAttempt, isClaimed);
  const progress = await carryOutAll(decision, start, memory, situation, context, signal);
  return conclude(situation, seen, decision, progress, startTime, context);
}

async function findLostClaim(
  { known, spec, access }: Situation,
  context: Context,
): Promise<Readiness | undefined> {
  const saId = known.account?.saId ?? spec.saId;
  if (saId === undefined) return undefined;
  const realm = {
    origin: originOf(access.spec.baseURL),
    orgId: known.account?.orgId ?? access.spec.orgId,
  };
  return claimIsLost(saId, known.uid, await findWinner(saId, realm, context));
}

async function carryOutLook(look: Look, { access }: Situation, signal: AbortSignal): Promise<Seen> {
  switch (look.kind) {
    case "List":
      return {
        kind: "Listed",
        attempt: look.attempt,
        listing: await observeListing(access, signal),
      };
    case "Get": {
      const detail = await lookUpAccount(access.client, look.saId, signal);
      return { kind: "Got", saId: look.saId, detail };
    }
    case "Wait":
    case "Remember":
    case "Nothing":
      return look;
  }
}

/** In order, stopping at the first failure. */
async function carryOutAll(
  { actions }: Decision,
  start: Progress,
  memory: Memory,
  { access }: Situation,
  context: Context,
  signal: AbortSignal,
): Promise<Progress> {
  let progress = start;
  for (const action of actions) {
    try {
      progress = await apply(action, progress, memory, access, context, signal);
    } catch (error) {
      progress = { ...progress, error };
    }
    if (progress.error !== undefined) return progress;
  }
  return progress;
}

/** What is to be said, and when the console is looked at again. */
function conclude(
  { known, spec }: Situation,
  seen: Seen,
  { finding, requeueAfterMs }: Decision,
  progress: Progress,
  startTime: Instant,
  context: Context,
): Outcome {
  const { account, error, became } = progress;
  const ready = finding ?? (account && accountReadiness(account));
  if (error === undefined && (seen.kind === "Got" || became === "Created")) {
    const isAiling = account !== undefined && ready?.state !== "Ready";
    noteLook(known, finding, startTime, isAiling ? LOOK_SOON_MS : LOOK_EVERY_MS, context);
  }
  return {
    progress,
    ready: ready && orSuspended(ready, spec.suspend),
    requeueAfterMs: requeueAfterMs ?? nextLookMs(known, became, context),
  };
}

function nextLookMs(known: Known, became: Progress["became"], { clock }: Context): number {
  // The listing that an account was found in does not show its keys.
  if (became === "Recovered") return SECOND;
  const now = clock.now();
  return Math.max(SECOND, Math.round(nextLookAt(known, now) - now));
}

function noteLook(
  { memory, generation }: Known,
  finding: Readiness | undefined,
  startTime: Instant,
  everyMs: number,
  { clock, random }: Context,
): void {
  const nextAt = clock.now() + everyMs * (1 + JITTER * (random.fraction() - 0.5));
  memory.observed = {
    generation,
    startTime,
    nextAt,
    ...(finding === undefined ? {} : { finding }),
  };
}

async function deletionPass(
  object: ServiceAccount,
  seen: Known,
  context: Context,
  signal: AbortSignal,
): Promise<Result> {
  const { step, known, became } = await nextDeletionStep(object, seen, context, signal);
  switch (step.kind) {
    case "Done":
      return {};
    case "Release":
      await removeFinalizer(context, serviceAccountType, object);
      if (step.note !== undefined) record(object, [step.note], context);
      context.log.info(
        { ...keyOf(object), reason: step.note?.reason ?? "Released" },
        "let service account go",
      );
      // Gone objects are not looked at again; a gateway's 404 may have made it look as if it were gone.
      return { requeueAfterMs: MINUTE / 2 };
    case "Hold": {
      const { account, attempt } = known;
      const progress = { object, account, attempt, ...(became === undefined ? {} : { became }) };
      // In a namespace that is going away, nobody needs the words; the finalizer must go all the same.
      await quietly(() => report(known, progress, step.finding, context, signal), context);
      return { requeueAfterMs: step.requeueAfterMs };
    }
  }
}

async function report(
  known: Known,
  progress: Progress,
  ready: Readiness,
  context: Context,
  signal: AbortSignal,
): Promise<void> {
  const { object, error } = progress;
  const { namespace, name } = known.key;
  const isReady = ready.state === "Ready" ? 1 : 0;
  context.metrics.objectReady.set({ kind: "ServiceAccount", namespace, name }, isReady);
  const status = nextStatus(known, progress, ready, error === undefined, context.clock.now());
  await writeStatus(context, serviceAccountType, context.caches.serviceAccounts, object, status, {
    foreignFields: FOREIGN_STATUS,
    signal,
  });
  if (progress.account !== undefined) known.memory.created = undefined;
  record(object, notes(progress, object.status, ready), context);
}

function record(
  object: ServiceAccount,
  events: readonly EventNote[],
  { events: recorder }: Context,
) {
  const { metadata } = object;
  for (const event of events) {
    recorder.record({ apiVersion: API_VERSION, kind: "ServiceAccount", metadata }, event);
  }
}

/** A report that cannot be written must not hide what it was about, nor hold up a deletion. */
async function quietly(write: () => Promise<void>, { log }: Context): Promise<void> {
  try {
    await write();
  } catch (error) {
    log.debug({ err: toError(error) }, "could not write the status");
  }
}
