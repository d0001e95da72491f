/**
 * Issues keys of a service account into a Secret, rotates them before they expire, and recovers interrupted attempts.
 */
import { type ApiKey, apiKeyKind } from "../../api/api-key.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { keyText } from "../../kube/resource.ts";
import { hasOlderVersion } from "../../runtime/predicates.ts";
import type { Reconcile } from "../../runtime/result.ts";
import { type ConsumersView, noConsumers } from "../consumers-board.ts";
import type { Context } from "../frame/context.ts";
import type { KindController } from "../frame/kind-controller.ts";
import { ProcessState } from "../frame/process-state.ts";
import { createReconciler, type KindReconciler } from "../frame/reconciler.ts";
import { apiKeyType } from "../resource-types.ts";
import { AttemptRegistry, accountKeyOf, type IssueCoordination, ownerKeyOf } from "./attempts.ts";
import type { DeletedIssues } from "./deleted-issues.ts";
import { NamespaceIssues } from "./namespace-issues.ts";
import { observe } from "./observe.ts";
import { nextOfDeletion } from "./rules/deletion.ts";
import { keysBeforeRestore } from "./rules/keys-before-restore.ts";
import { next } from "./rules/next.ts";
import { report } from "./rules/report.ts";
import type { ApiKeyKind, ApiKeyMemory } from "./rules/snapshot.ts";
import { nothingRemembered } from "./steps/progress.ts";
import { apiKeySteps } from "./steps/steps.ts";
import { defaultTiming, type Timing } from "./timing.ts";
import { WaitingLine } from "./waiting-line.ts";

export interface ApiKeyController extends KindReconciler<ApiKeyKind> {
  /** Number of pairs that exist only in memory. The process must not exit while there are any. */
  readonly unsavedPairs: number;
  /** Tries once to write each pair that exists only in memory. Rejects with the first failure. */
  saveHeldPairs(signal: AbortSignal): Promise<void>;
}

interface ApiKeyOptions {
  /** Called with the key of an object to reconcile now. */
  readonly enqueue: (key: string) => void;
  readonly timing?: Partial<Timing>;
  /** Without a view, the controller ignores Pods. */
  readonly consumers?: ConsumersView;
  /** Issue counts that the previous leader stored. */
  readonly deletedIssues?: DeletedIssues;
}

/**
 * Guarantees: the operator calls issueKey only for a recorded intent, and at most once for each intent. After any
 * interruption, every key is in a Secret or listed in the status. Assumptions: an object never has two concurrent runs,
 * and no other process issues keys for the same objects.
 */
export function createApiKeyController(context: Context, options: ApiKeyOptions): ApiKeyController {
  const apiKeys = context.caches.of(apiKeyType);
  const states = new ProcessState<ApiKeyMemory>();
  const coordination = createCoordination(context, options);
  const { attempts, heldPairs } = coordination;
  notifyWhenForgotten(context, coordination);
  rememberKeysBeforeRestore(context, states);
  apiKeys.subscribe(({ old, new: now }) => {
    if (old !== undefined && old.metadata.uid !== now?.metadata.uid)
      coordination.namespaceIssues.onDeleted(old);
  });
  const reconciler = createReconciler(createKind(options, coordination), context, states);

  const reconcile: Reconcile<ApiKey> = async (object, run) => {
    try {
      return await reconciler.reconcile(object, run);
    } finally {
      attempts.endRun(ownerKeyOf(object));
    }
  };

  return {
    ...reconciler,
    reconcile,
    get unsavedPairs() {
      return heldPairs.size;
    },
    async saveHeldPairs(signal) {
      const failures: unknown[] = [];
      for (const object of apiKeys.list().filter(({ metadata }) => heldPairs.has(metadata.uid)))
        await reconcile(object, { id: "shutdown", signal }).catch((error: unknown) =>
          failures.push(error),
        );
      if (failures.length > 0) throw failures[0];
    },
  };
}

function createCoordination(
  { caches }: Context,
  { enqueue, deletedIssues }: ApiKeyOptions,
): IssueCoordination {
  const line = new WaitingLine(enqueue);
  return {
    line,
    attempts: new AttemptRegistry((account) => line.notify(account)),
    namespaceIssues: new NamespaceIssues(caches, deletedIssues),
    heldPairs: new Map(),
  };
}

function createKind(
  options: ApiKeyOptions,
  coordination: IssueCoordination,
): KindController<ApiKeyKind> {
  const { timing: changes, consumers = noConsumers } = options;
  const timing = { ...defaultTiming, ...changes };
  return {
    type: apiKeyType,
    parse: (object) => parseSpec(apiKeyKind, object),
    start: {},
    observe: (object, spec, run) => observe(object, spec, run, coordination, consumers),
    next: (progress, at) => next(progress, at, timing),
    nextOfDeletion: (progress, at) => nextOfDeletion(progress, at, timing),
    steps: apiKeySteps(coordination),
    report: (progress, outcome, at) => report(progress, outcome, at, timing),
    mustSave: ({ metadata: { uid } }) => coordination.heldPairs.has(uid),
    forget: ({ namespace, name }) => {
      const owner = keyText({ namespace, name });
      coordination.attempts.forget(owner);
      coordination.line.forget(owner);
    },
  };
}

/** An attempt that left its status without an explanation must not block other ApiKeys either. */
function notifyWhenForgotten({ caches }: Context, { attempts, line }: IssueCoordination): void {
  caches.of(apiKeyType).subscribe(({ old, new: now }) => {
    const before = old?.status?.attempt;
    if (
      before !== undefined &&
      now?.status?.attempt === undefined &&
      !attempts.isExplained(before.id)
    )
      line.notify(accountKeyOf(old as ApiKey));
  });
}

/** The status of an object that was restored to an older version lacks keys. */
function rememberKeysBeforeRestore(
  { caches, clock }: Context,
  states: ProcessState<ApiKeyMemory>,
): void {
  caches.of(apiKeyType).subscribe(({ old, new: now }) => {
    if (old === undefined || now === undefined || !hasOlderVersion(old, now)) return;
    const { uid } = now.metadata;
    const memory = states.of(uid) ?? nothingRemembered;
    const forgotten = keysBeforeRestore(old, now, clock.now());
    states.set(uid, {
      ...memory,
      keysBeforeRestore: [...memory.keysBeforeRestore, ...forgotten],
    });
  });
}
