/**
 * Keeps a store equal to the API server's objects.
 *
 * Guarantees: it ends only when aborted, and then leaves no request open. Only the reflector writes the content of the
 * store, one event after the other. It does not react to events; other code subscribes to the store.
 *
 * Caveats: if etcd was restored from a backup without a revision bump, the reflector notices it by the older versions.
 * If the versions have passed ours before the next check, no client can notice it. etcd's manual says to bump the
 * revision and mark it as compacted; the reflector then gets Gone.
 */
import type { Log } from "../../util/log.ts";
import type { Random } from "../../util/random.ts";
import { MINUTE, SECOND } from "../../util/time.ts";
import { toError } from "../../util/to-error.ts";
import { listPages, readVersion, type Selection } from "../client/list-pages.ts";
import { isKubeError, KubeError } from "../errors.ts";
import type { KubeObject, ResourceType } from "../resource.ts";
import type { StoreWriter, WritableStore } from "../store/memory-store.ts";
import { Collection } from "./collection.ts";
import { splitLines } from "./lines.ts";
import { restartReasonOf } from "./restart-reason.ts";
import { StringPool } from "./string-pool.ts";
import { trim } from "./trim.ts";
import {
  INITIAL_STATE,
  type NextStep,
  type RestartReason,
  type StoreEffect,
  step,
  type WatchInput,
  type WatchState,
} from "./watch-state.ts";
import { openWatch, parseWatchLine, type WatchApi } from "./watch-stream.ts";
import { type Silence, Watchdog } from "./watchdog.ts";

interface ReflectorLimits {
  /** A stream that is silent for this long is dead; bookmarks arrive about once a minute. */
  readonly idleMs: number;
  /** The same limit while waiting for initial objects, which arrive without long pauses. */
  readonly initialIdleMs: number;
  /** Bounds of the random time after which the server must close a stream (`timeoutSeconds`). */
  readonly streamSeconds: readonly [number, number];
  /** The stream is aborted this long after that time. */
  readonly graceMs: number;
  /** Deadline of a page, of a version check, and of the head of a stream's answer. */
  readonly callMs: number;
  readonly maxLineBytes: number;
}

const DEFAULT_LIMITS: ReflectorLimits = {
  // A dead stream must be noticed and resumed within 90 s (L8).
  idleMs: 75 * SECOND,
  initialIdleMs: 15 * SECOND,
  streamSeconds: [300, 600],
  graceMs: 30 * SECOND,
  callMs: MINUTE / 2,
  maxLineBytes: 8 * 2 ** 20,
};

/** For metrics; every function is optional and must not throw. */
interface ReflectorObserver {
  onRestart?(reason: RestartReason): void;
  /** An object was added, changed or deleted, or a bookmark arrived. */
  onEvent?(): void;
  /** The store's first listing is complete. */
  onSynced?(): void;
}

export interface ReflectorOptions<T extends KubeObject> {
  readonly api: WatchApi;
  readonly type: ResourceType<T>;
  /** Without a namespace: all namespaces, or the cluster-scoped objects. */
  readonly scope: { readonly namespace?: string };
  readonly labelSelector?: string;
  /** Keeps only metadata in memory; for Secrets. */
  readonly metadataOnly?: boolean;
  /** Returns the part of an object that the store keeps. `size` is at least the length of its JSON. */
  readonly shrink?: (object: T, size: number) => T;
  readonly store: WritableStore<T>;
  readonly random: Random;
  readonly log: Log;
  readonly observer?: ReflectorObserver;
  readonly limits?: Partial<ReflectorLimits>;
  readonly signal: AbortSignal;
}

export interface Reflector {
  /** Resolves once the reflector was aborted and has released everything; never rejects. */
  readonly done: Promise<void>;
}

/** Starts at once; the store's scope is open when this returns. */
export function startReflector<T extends KubeObject>(options: ReflectorOptions<T>): Reflector {
  const loop = new ReflectorLoop(options);
  return { done: loop.run() };
}

class ReflectorLoop<T extends KubeObject> {
  #state: WatchState = INITIAL_STATE;
  readonly #options: ReflectorOptions<T>;
  readonly #limits: ReflectorLimits;
  readonly #selection: Selection;
  readonly #writer: StoreWriter<T>;
  readonly #strings = new StringPool();
  #collection: Collection<T>;

  constructor(options: ReflectorOptions<T>) {
    const { scope, labelSelector, metadataOnly } = options;
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#selection = { namespace: scope.namespace, labelSelector, metadataOnly };
    this.#writer = options.store.openScope(scope.namespace ?? "");
    this.#collection = new Collection(this.#writer);
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    let next = this.#feed({ kind: "Started" });
    while (!signal.aborted) {
      // Every step returns a next step. A missing next step is a bug, so the step is repeated.
      next = (await this.#perform(next ?? { kind: "ListPages" })) ?? next;
    }
  }

  async #perform(next: NextStep): Promise<NextStep | undefined> {
    try {
      switch (next.kind) {
        case "OpenStream":
          return await this.#follow(next.version);
        case "ListPages":
          return await this.#list();
        case "CheckVersion":
          return await this.#check();
        case "Wait":
          return await this.#wait(next.ms);
      }
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Reads one stream until it ends or the protocol requires another step. */
  async #follow(version: string | undefined): Promise<NextStep | undefined> {
    if (version === undefined) this.#collection = new Collection(this.#writer);
    const { api, type, random } = this.#options;
    const { callMs, streamSeconds, graceMs, maxLineBytes } = this.#limits;
    const [least, most] = streamSeconds;
    const timeoutSeconds = Math.round(least + (most - least) * random.fraction());
    const stream = new AbortController();
    const unlink = linkAbort(this.#options.signal, stream);
    let silence: Silence | undefined;
    const watchdog = new Watchdog({
      clock: api.clock,
      idleMs: () => this.#idleMs(),
      deadlineMs: timeoutSeconds * SECOND + graceMs,
      onSilence: (kind) => {
        silence = kind;
        stream.abort(new Error("the stream is silent"));
      },
    });
    try {
      const body = await openWatch(api, type, {
        selection: this.#selection,
        version,
        timeoutSeconds,
        headTimeoutMs: callMs,
        signal: stream.signal,
      });
      this.#feed({ kind: "Opened", at: api.clock.monotonic() });
      return await this.#read(splitLines(noticing(body, watchdog), maxLineBytes));
    } catch (error) {
      return this.#fail(error, silence);
    } finally {
      watchdog.stop();
      unlink();
      // Leave no request open, whatever ended the stream.
      stream.abort();
    }
  }

  async #read(lines: AsyncIterable<string>): Promise<NextStep | undefined> {
    const { api, type, signal, observer } = this.#options;
    for await (const line of lines) {
      if (signal.aborted) return undefined;
      const next = this.#feed(parseWatchLine(api, type, line));
      observer?.onEvent?.();
      if (next !== undefined) return next;
      // More events may be missing. Only a new listing is certain to be complete.
      if (this.#writer.hasMissed) return this.#fail(new KubeError("Gone", "an event was left out"));
    }
    return this.#feed({ kind: "Closed", ...this.#moment() });
  }

  async #list(): Promise<NextStep | undefined> {
    this.#collection = new Collection(this.#writer);
    const { api, type } = this.#options;
    const keep = (object: T) => this.#keep(trim(object), Number.POSITIVE_INFINITY);
    const { objects, version } = await listPages(api, type, this.#selection, this.#call(), keep);
    return this.#feed({ kind: "Listed", objects, version });
  }

  async #check(): Promise<NextStep | undefined> {
    const { api, type } = this.#options;
    const version = await readVersion(api, type, this.#selection, this.#call());
    return this.#feed({ kind: "Checked", version });
  }

  async #wait(ms: number): Promise<NextStep | undefined> {
    await this.#options.api.clock.sleep(ms, this.#options.signal);
    return this.#feed({ kind: "Woke" });
  }

  /** The object as the store keeps it. */
  #keep(object: T, size: number): T {
    const kept = this.#options.shrink?.(object, size) ?? object;
    this.#strings.share(kept);
    return kept;
  }

  /** Passes `input` to the protocol and applies the resulting effects to the store. */
  #feed(input: WatchInput<T>): NextStep | undefined {
    const wasSynced = this.#options.store.synced;
    const { state, effects, next, restart } = step(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#write(effect);
    if (restart !== undefined) this.#note(restart);
    if (!wasSynced && this.#options.store.synced) this.#options.observer?.onSynced?.();
    return next;
  }

  #write(effect: StoreEffect<T>): void {
    switch (effect.kind) {
      case "Collect":
        this.#collection.collect(this.#keep(effect.object, effect.size), effect.deleted);
        return;
      case "Swap":
        this.#collection.swap(effect.version);
        break;
      case "Replace":
        this.#collection.replace(effect.objects, effect.version);
        break;
      case "Put":
        this.#writer.put(this.#keep(effect.object, effect.size));
        break;
      case "Remove":
        this.#writer.remove(this.#keep(effect.object, effect.size));
        break;
      case "Advance":
        this.#writer.advance(effect.version);
        break;
    }
  }

  #fail(error: unknown, silence?: Silence): NextStep | undefined {
    const { signal, log, api, type } = this.#options;
    if (signal.aborted) return undefined;
    const { kind } = type;
    const reason = silence ?? restartReasonOf(error);
    if (reason === "Unexpected")
      log.error({ kind, err: toError(error) }, "watching failed unexpectedly");
    else log.debug({ kind, err: toError(error), reason }, "a watch was interrupted");
    const retryAt = isKubeError(error) ? error.retryAt : undefined;
    const waitAtLeastMs = retryAt === undefined ? 0 : Math.max(0, retryAt - api.clock.now());
    return this.#feed({ kind: "Failed", reason, waitAtLeastMs, ...this.#moment() });
  }

  #note(reason: RestartReason): void {
    const { log, observer, type, scope } = this.#options;
    observer?.onRestart?.(reason);
    const { attempts } = this.#state;
    // A single lost stream is normal. Warn only if the watch does not recover.
    if (attempts > 2) {
      const { namespace } = scope;
      log.warn({ kind: type.kind, namespace, reason, attempts }, "cannot watch");
    }
  }

  #idleMs(): number {
    return this.#state.phase === "Initial" ? this.#limits.initialIdleMs : this.#limits.idleMs;
  }

  #moment(): { at: number; fraction: number } {
    const { api, random } = this.#options;
    return { at: api.clock.monotonic(), fraction: random.fraction() };
  }

  #call(): { timeoutMs: number; signal: AbortSignal } {
    return { timeoutMs: this.#limits.callMs, signal: this.#options.signal };
  }
}

async function* noticing(
  body: AsyncIterable<Uint8Array>,
  watchdog: Watchdog,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    watchdog.alive();
    yield chunk;
  }
}

/** Like AbortSignal.any, but can be detached: the outer signal lives as long as the program. */
function linkAbort(outer: AbortSignal, inner: AbortController): () => void {
  const abort = () => inner.abort(outer.reason);
  if (outer.aborted) abort();
  else outer.addEventListener("abort", abort, { once: true });
  return () => outer.removeEventListener("abort", abort);
}
