/** The operator's own Secrets, as metadata; watched if the operator has permission to list and watch Secrets. */
import { labels, MANAGED_BY } from "../api/meta.ts";
import { canI } from "../kube/client/access-review.ts";
import { isKubeError } from "../kube/errors.ts";
import { type KubeObject, keyText, type ObjectKey } from "../kube/resource.ts";
import { createStore, type WritableStore } from "../kube/store/memory-store.ts";
import type { StoreChange, WriteTracker } from "../kube/store/store.ts";
import { startReflector } from "../kube/watch/reflector.ts";
import type { WatchApi } from "../kube/watch/watch-stream.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { SecretCache } from "../reconciler/context.ts";
import { settleAll } from "../reconciler/settle-all.ts";
import { secretType } from "../resources/resource-types.ts";
import type { Log } from "../util/log.ts";
import type { Random } from "../util/random.ts";
import { MINUTE, SECOND } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import { shrinkSecret } from "./shrink.ts";

/** Bookmarks arrive about once a minute. After this long without an event, the cache is not trusted. */
const MAX_SILENCE_MS = 5 * MINUTE;
const REVIEW_RETRY_MS = 2 * SECOND;

export interface WatchedSecretsOptions {
  readonly api: WatchApi;
  /** Empty means all namespaces. */
  readonly namespaces: readonly string[];
  /** Whether to watch the operator's own Secrets; auto: if it has permission. */
  readonly watchSecrets: "auto" | "true" | "false";
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** An error in a store's listener is a bug; other listeners still run. */
export function logListenerError(log: Log, kind: string): (error: unknown) => void {
  return (error) => log.error({ kind, err: toError(error) }, "store listener failed");
}

/** The Secrets that the operator wrote, and their changes. */
export class WatchedSecrets implements SecretCache, WriteTracker {
  readonly #options: WatchedSecretsOptions;
  readonly #store: WritableStore<KubeObject>;
  readonly #scopes: readonly string[];
  /** By scope: when its watch last received an event, in monotonic time. */
  readonly #heardAt = new Map<string, number>();
  /** The resource versions of the operator's own last writes. */
  readonly #ownWrites = new Map<string, string>();
  /** Changes that may result from an own write in progress, because the watch can be faster than the response. */
  readonly #held = new Map<string, StoreChange<KubeObject>[]>();
  readonly #listeners = new Set<(change: StoreChange<KubeObject>) => void>();
  readonly #onListenerError: (error: unknown) => void;
  #isAllowed: boolean | undefined;

  constructor(options: WatchedSecretsOptions) {
    const { log, namespaces, watchSecrets } = options;
    this.#options = options;
    this.#scopes = namespaces.length > 0 ? namespaces : [""];
    if (watchSecrets !== "auto") this.#isAllowed = watchSecrets === "true";
    this.#onListenerError = logListenerError(log, "Secret");
    this.#store = createStore({ onListenerError: this.#onListenerError });
    this.#store.subscribe((change) => {
      const held = this.#held.get(keyText(change.key));
      if (held === undefined) this.#tell(change);
      else held.push(change);
    });
  }

  /** Resolves once the signal is aborted and no watch is left, or Secrets are not watched. */
  async follow(signal: AbortSignal): Promise<void> {
    this.#isAllowed ??= await canWatch(this.#options, this.#scopes, signal);
    if (!this.#isAllowed || signal.aborted) return;
    await Promise.all(this.#scopes.map((scope) => this.#followScope(scope, signal)));
  }

  get synced(): boolean {
    return this.#isAllowed !== undefined && (!this.#isAllowed || this.#store.synced);
  }

  get isWatched(): boolean {
    const now = this.#options.api.clock.monotonic();
    const isFresh = (scope: string) =>
      now - (this.#heardAt.get(scope) ?? -Infinity) < MAX_SILENCE_MS;
    return this.#isAllowed === true && this.#store.synced && this.#scopes.every(isFresh);
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#store.get(key);
  }

  isCurrent(key: ObjectKey): boolean {
    return this.#store.isCurrent(key);
  }

  /** Changes that the watch reports during the write, and that result from it, are not reported to listeners. */
  async track<T extends KubeObject>(key: ObjectKey, send: () => Promise<T>): Promise<T> {
    if (this.#isAllowed !== true) return send();
    const text = keyText(key);
    const held: StoreChange<KubeObject>[] = [];
    this.#held.set(text, held);
    try {
      const written = await send();
      this.#ownWrites.set(text, written.metadata.resourceVersion ?? "");
      this.#store.note(written);
      return written;
    } finally {
      this.#held.delete(text);
      for (const change of held) this.#tell(change);
    }
  }

  note(object: KubeObject): void {
    if (this.#isAllowed === true) this.#store.note(object);
  }

  subscribe(listener: (change: StoreChange<KubeObject>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tell(change: StoreChange<KubeObject>): void {
    const key = keyText(change.key);
    const version = change.new?.metadata.resourceVersion;
    const isOwn = version !== undefined && this.#ownWrites.get(key) === version;
    if (isOwn || version === undefined) this.#ownWrites.delete(key);
    if (isOwn) return;
    for (const listener of this.#listeners)
      try {
        listener(change);
      } catch (error) {
        this.#onListenerError(error);
      }
  }

  #followScope(scope: string, signal: AbortSignal): Promise<void> {
    const { api, random, log, metrics } = this.#options;
    const heard = () => {
      this.#heardAt.set(scope, api.clock.monotonic());
    };
    const { done } = startReflector({
      api,
      type: secretType,
      scope: scope === "" ? {} : { namespace: scope },
      labelSelector: `${labels.managedBy}=${MANAGED_BY},${labels.apiKey}`,
      metadataOnly: true,
      shrink: shrinkSecret,
      store: this.#store,
      random,
      log,
      observer: {
        onEvent: heard,
        onSynced: () => {
          heard();
          metrics.storeSynced.set({ kind: "Secret" }, 1);
        },
      },
      signal,
    });
    return done;
  }
}

/** Retries until the API server answers; an API server without this review counts as a denial. */
async function canWatch(
  { api, log }: WatchedSecretsOptions,
  scopes: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const answers = await settleAll(
        scopes.flatMap((namespace) =>
          (["list", "watch"] as const).map((verb) =>
            canI(api, {
              verb,
              group: "",
              resource: "secrets",
              ...(namespace === "" ? {} : { namespace }),
            }),
          ),
        ),
      );
      return answers.every((isAllowed) => isAllowed);
    } catch (error) {
      if (isKubeError(error, "NotFound") || isKubeError(error, "Forbidden")) return false;
      log.warn({ err: toError(error) }, "could not check the permission to watch Secrets");
      const retryAt = isKubeError(error) ? (error.retryAt ?? 0) : 0;
      const waitMs = Math.max(REVIEW_RETRY_MS, retryAt - api.clock.now());
      await api.clock.sleep(waitMs, signal).catch(() => undefined);
    }
  }
  return false;
}
