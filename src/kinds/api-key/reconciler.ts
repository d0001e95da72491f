/**
 * Issues keys of a service account into a Secret, rotates them before they expire, and recovers interrupted attempts.
 */
import { type ApiKey, apiKeyKind } from "../../api/api-key.ts";
import { parseStoredSpec } from "../../api/parse-spec.ts";
import { type ConsumersView, noConsumers } from "../../consumers/board.ts";
import { type KubeObject, keyText, type ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import type { KindDefinition } from "../../reconciler/kind-definition.ts";
import { ProcessState } from "../../reconciler/process-state.ts";
import { createReconciler, type KindReconciler } from "../../reconciler/reconciler.ts";
import { apiKeyType } from "../../resources/resource-types.ts";
import { hasOlderVersion } from "../../runtime/predicates.ts";
import type { Reconcile } from "../../runtime/result.ts";
import { toError } from "../../util/to-error.ts";
import type { IssueCoordination } from "./coordination.ts";
import type { DeletedIssues } from "./deleted-issues.ts";
import { deleteApiKey } from "./deletion.ts";
import { apiKeyEffects } from "./effects/effects.ts";
import { NamespaceIssues } from "./namespace-issues.ts";
import { observe } from "./observe.ts";
import { notAllowed } from "./rules/forecast.ts";
import { keysBeforeRestore } from "./rules/keys-before-restore.ts";
import { report } from "./rules/report.ts";
import {
  type ApiKeyKind,
  type ApiKeyMemory,
  type HeldPair,
  nothingRemembered,
} from "./rules/snapshot.ts";
import { reconcileApiKey } from "./run.ts";
import { defaultTiming, type Timing } from "./timing.ts";

export interface ApiKeyReconciler extends KindReconciler<ApiKeyKind> {
  /** Number of pairs that exist only in memory. The process must not exit while there are any. */
  readonly unsavedPairs: number;
  /**
   * Tries once to write each pair that exists only in memory and whose ApiKey is not being reconciled. Rejects with the
   * first failure.
   */
  saveHeldPairs(signal: AbortSignal): Promise<void>;
}

interface ApiKeyOptions {
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
export function createApiKeyReconciler(context: Context, options: ApiKeyOptions): ApiKeyReconciler {
  const apiKeys = context.caches.of(apiKeyType);
  const states = new ProcessState<ApiKeyMemory>(context.memory);
  const coordination = createCoordination(context, options);
  const { heldPairs } = coordination;
  rememberKeysBeforeRestore(context, states);
  apiKeys.subscribe(({ old, new: now }) => {
    if (old !== undefined && old.metadata.uid !== now?.metadata.uid)
      coordination.namespaceIssues.onDeleted(old);
  });
  const reconciler = createReconciler(createKind(options, coordination), context, states);

  const running = new Set<string>();
  const reconcile: Reconcile<ApiKey> = async (object, run) => {
    running.add(object.metadata.uid);
    try {
      return await reconciler.reconcile(object, run);
    } finally {
      running.delete(object.metadata.uid);
    }
  };
  /** Writes the pair; if the ApiKey is gone, its key is lost, and the log names it. */
  const save = async (uid: string, { owner, pair }: HeldPair, signal: AbortSignal) => {
    const known: (ApiKey & KubeObject) | undefined = owner && apiKeys.get(owner);
    const isKnown = known?.metadata.uid === uid && known.isPartial !== true;
    const object = isKnown
      ? known
      : owner && (await context.kube.get(apiKeyType, owner, { signal }));
    if (object?.metadata.uid === uid) return reconciler.save(object, { signal });
    heldPairs.delete(uid);
    const { namespace, name } = owner ?? {};
    const { keyId } = pair;
    context.log.error(
      { namespace, name, keyId },
      "the ApiKey of a new key is gone; its secret is lost",
    );
  };

  /** A watch may be wrong about an ApiKey that is gone, so a live read decides about its pair. */
  const saveOf = async (key: ObjectKey) => {
    for (const [uid, held] of heldPairs)
      if (held.owner !== undefined && keyText(held.owner) === keyText(key))
        await save(uid, held, new AbortController().signal);
  };

  return {
    ...reconciler,
    reconcile,
    onGone: (key) => {
      reconciler.onGone(key);
      const pairs = heldPairs.size;
      saveOf(key).catch((error: unknown) =>
        context.log.warn(
          { pairs, err: toError(error) },
          "could not write the key of an ApiKey that the cache lacks",
        ),
      );
    },
    get unsavedPairs() {
      return heldPairs.size;
    },
    async saveHeldPairs(signal) {
      const idle = [...heldPairs].filter(([uid]) => !running.has(uid));
      const saved = await Promise.allSettled(idle.map(([uid, held]) => save(uid, held, signal)));
      for (const each of saved) if (each.status === "rejected") throw each.reason;
    },
  };
}

function createCoordination(
  { caches }: Context,
  { deletedIssues }: ApiKeyOptions,
): IssueCoordination {
  return {
    namespaceIssues: new NamespaceIssues(caches, deletedIssues),
    heldPairs: new Map(),
  };
}

function createKind(
  options: ApiKeyOptions,
  coordination: IssueCoordination,
): KindDefinition<ApiKeyKind> {
  const { timing: changes, consumers = noConsumers } = options;
  const timing = { ...defaultTiming, ...changes };
  const effects = apiKeyEffects(coordination);
  return {
    type: apiKeyType,
    parse: (object) => parseStoredSpec(apiKeyKind, object),
    observe: (object, spec, run) => observe(object, spec, run, coordination, consumers),
    run: (snapshot, readNow) => reconcileApiKey(snapshot, { effects, timing, readNow }),
    runOfDeletion: (snapshot, readNow) => deleteApiKey(snapshot, { effects, timing, readNow }),
    report: (snapshot, outcome, at, before) => report(snapshot, outcome, at, timing, before),
    ifInvalid: (message) => [notAllowed({ reason: "InvalidSpec", message })],
    mustSave: ({ metadata: { uid } }) => coordination.heldPairs.has(uid),
  };
}

/** The status of an object that was restored to an older version lacks keys. */
function rememberKeysBeforeRestore(
  { caches, clock }: Context,
  states: ProcessState<ApiKeyMemory>,
): void {
  caches.of(apiKeyType).subscribe(({ old, new: now }) => {
    if (old === undefined || now === undefined || !hasOlderVersion(old, now)) return;
    const { uid, namespace = "" } = now.metadata;
    const memory = states.of(uid) ?? nothingRemembered;
    const forgotten = keysBeforeRestore(old, now, clock.now());
    states.set(uid, namespace, {
      ...memory,
      keysBeforeRestore: [...memory.keysBeforeRestore, ...forgotten],
    });
  });
}
