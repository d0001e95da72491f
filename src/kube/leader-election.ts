/**
 * Leader election by a Lease, with client-go's rules.
 *
 * Guarantees: a candidate takes a held lease only after it has observed the lease unchanged for the whole lease
 * duration on its own monotonic clock; the wall clocks of two processes are never compared. Every write contains the
 * resource version that was read. The leader counts its time from before it sent the renewal, so it stops before
 * another candidate can start, provided that no clock runs more than 1.5 times as fast as another. If the lease does
 * not exist, it may have been deleted while a process leads. Therefore creating the lease does not make a candidate
 * the leader: it creates the lease with the holder {@link UNKNOWN_HOLDER}, and then the same rule applies. Only the
 * current leader takes the lease back at once.
 *
 * The monotonic clock stands still while the machine is suspended, and the lease may pass to another process then. If the
 * wall clock has advanced further than the monotonic clock since the last renewal, nothing may mutate before the next one.
 *
 * Caveats: a lease is not a fence. A write that has left this process can arrive late. Therefore
 * {@link LeaderElection.assertMayMutate} runs before every mutating call and again right before its first byte is
 * sent, and every mutating call has preconditions.
 */
import { wallTime } from "../util/agreed-time.ts";
import { jittered } from "../util/jitter.ts";
import type { Log } from "../util/log.ts";
import type { ObjectMeta } from "../util/object-meta.ts";
import type { Random } from "../util/random.ts";
import { type Clock, type Instant, MINUTE, SECOND, toMicroTime } from "../util/time.ts";
import { toError } from "../util/to-error.ts";
import type { KubeClient } from "./client/client.ts";
import { isKubeError, KubeError } from "./errors.ts";
import type { KubeObject } from "./resource.ts";
import { type Lease, type LeaseSpec, leaseType } from "./resource-types.ts";

export interface LeaseTimings {
  /** Candidates wait this long after the last change of the lease that they observed. */
  readonly leaseMs: number;
  /** The leader stops leading if it could not renew the lease for this long. */
  readonly renewDeadlineMs: number;
  /** Time between two attempts; up to a sixth less at random, so that candidates do not synchronize. */
  readonly retryMs: number;
}

const defaultLeaseTimings: LeaseTimings = {
  leaseMs: 15 * SECOND,
  renewDeadlineMs: 10 * SECOND,
  retryMs: 2 * SECOND,
};

const REPEATED_LOG_MS = MINUTE;
/** Between two renewals, the clocks of a machine that was not suspended or set differ by less. */
const LONGEST_GAP_MS = SECOND;

const JITTER = { least: 1 / 1.2, most: 1 };

/** The holder of a newly created lease; stands for the holder of a deleted lease, if any. */
export const UNKNOWN_HOLDER = "unknown";

export type LeadershipEnd = "Stopped" | "Lost";

interface ElectionRun {
  /** Aborting it releases the lease. All mutating work must have ended before. */
  readonly signal: AbortSignal;
  /** Called once when the lease is acquired. The signal is aborted when leadership ends for any reason. */
  readonly onStartedLeading: (leading: AbortSignal) => void;
}

export interface LeaderElection {
  readonly isLeader: boolean;
  /** Throws KubeError NotLeading if a call of at most `timeoutMs` might end after the lease can be lost (S8). */
  assertMayMutate(timeoutMs: number): void;
  /** Resolves once the signal is aborted or the lease is lost; then the process should exit. Call it only once. */
  run(run: ElectionRun): Promise<LeadershipEnd>;
}

/** Data for the next leader, in annotations of the lease. Written with the renewals, so it costs no extra calls. */
export interface Handover {
  /** Called with the annotations of the lease, before leading starts. */
  take(annotations: Readonly<Record<string, string>>): void;
  /** Called at each renewal, so changes are written a few seconds later. `undefined` removes an annotation. */
  leave(): Readonly<Record<string, string | undefined>>;
}

export interface ElectionOptions {
  /** A separate client: its connection pool is not shared and its calls are not fenced. */
  readonly client: KubeClient;
  readonly namespace: string;
  readonly name: string;
  /** Different from the identity of any other process, even of a later process on the same host. */
  readonly identity: string;
  readonly timings?: LeaseTimings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called at the start of {@link LeaderElection.run} and whenever leadership changes. */
  readonly onStatus?: (leading: boolean) => void;
  readonly handover?: Handover;
}

/** For a process that runs alone and therefore always leads. */
export function noElection(onStatus?: (leading: boolean) => void): LeaderElection {
  let leading = true;
  return {
    get isLeader() {
      return leading;
    },
    assertMayMutate() {
      if (!leading) throw notLeading();
    },
    async run({ signal, onStartedLeading }) {
      onStatus?.(true);
      onStartedLeading(signal);
      await aborted(signal);
      leading = false;
      onStatus?.(false);
      return "Stopped";
    },
  };
}

export function createLeaderElection(options: ElectionOptions): LeaderElection {
  return new Elector(options);
}

class Elector implements LeaderElection {
  readonly #options: ElectionOptions;
  readonly #timings: LeaseTimings;
  /** The last observed lease, and when its state was first observed (monotonic). */
  #seen: { readonly lease: Lease; readonly at: number } | undefined;
  /** When the last successful renewal was sent (monotonic). */
  #renewedAt: number | undefined;
  /** The same by the wall clock. */
  #renewedTime: Instant = 0;
  /** The end of the pause that the server requested (monotonic). */
  #askedPauseUntil = 0;
  /** The holder in the last log line about waiting. */
  #waitingFor: string | undefined;
  /** The failure in the last log line, and when it was written (monotonic); absent after a success. */
  #logged: { readonly message: string; readonly at: number } | undefined;
  #hasTakenHandover = false;
  /** Set by `run`. Once it is aborted, nothing may mutate, even if a renewal is still under way. */
  #stopping: AbortSignal | undefined;

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#timings = options.timings ?? defaultLeaseTimings;
  }

  get isLeader(): boolean {
    return this.#stopping?.aborted !== true && this.#isHolding;
  }

  /** Unlike `isLeader`, also true until a process that was told to stop has released the lease. */
  get #isHolding(): boolean {
    return this.#remainingMs() > 0;
  }

  assertMayMutate(timeoutMs: number): void {
    if (!this.isLeader || this.#remainingMs() < timeoutMs || this.#mayHaveSlept())
      throw notLeading();
  }

  /** Whether the machine may have been suspended since the last renewal. */
  #mayHaveSlept(): boolean {
    const { clock } = this.#options;
    const sinceMs = clock.monotonic() - (this.#renewedAt ?? 0);
    return wallTime(clock) - this.#renewedTime - sinceMs > LONGEST_GAP_MS;
  }

  async run({ signal, onStartedLeading }: ElectionRun): Promise<LeadershipEnd> {
    const { log, onStatus, identity } = this.#options;
    this.#stopping = signal;
    onStatus?.(false);
    if (!(await this.#acquire(signal))) return "Stopped";
    log.info({ identity }, "became leader");
    onStatus?.(true);
    this.#takeHandover();
    const leading = new AbortController();
    onStartedLeading(leading.signal);

    const end = await this.#keep(signal);
    // From here on nothing may mutate, not even during the release.
    this.#renewedAt = undefined;
    onStatus?.(false);
    leading.abort(notLeading());
    if (end === "Lost") log.error({ identity }, "lost the lease");
    else await this.#release();
    return end;
  }

  /** Remaining time for mutating calls. */
  #remainingMs(): number {
    if (this.#renewedAt === undefined) return Number.NEGATIVE_INFINITY;
    return this.#renewedAt + this.#timings.renewDeadlineMs - this.#options.clock.monotonic();
  }

  /** Tries until the lease is acquired (true) or the signal is aborted (false). */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      const won = await this.#attempt(this.#timings.renewDeadlineMs);
      if (won && !signal.aborted) return true;
      if (won) break;
      this.#logWait();
      await this.#pause(this.#untilNextTryMs(this.#retryMs(), this.#untilExpiryMs()), signal);
    }
    await this.#release();
    return false;
  }

  /** Logs once for each holder, so that neither a first start nor a standby is silent. */
  #logWait(): void {
    const { log, namespace, name } = this.#options;
    const holder = this.#seen?.lease.spec?.holderIdentity;
    if (holder === undefined || holder === "" || holder === this.#waitingFor) return;
    this.#waitingFor = holder;
    const expiresInSeconds = Math.max(0, Math.ceil(this.#untilExpiryMs() / SECOND));
    log.info({ lease: `${namespace}/${name}`, holder, expiresInSeconds }, "waiting for the lease");
  }

  /** Renews until the signal is aborted or the deadline has passed. */
  async #keep(signal: AbortSignal): Promise<LeadershipEnd> {
    let pauseMs = this.#retryMs();
    while (true) {
      await this.#pause(this.#untilNextTryMs(pauseMs, this.#remainingMs()), signal);
      if (signal.aborted) return "Stopped";
      if (this.#remainingMs() <= 0 || (await this.#renewalIsRefused())) return "Lost";
      pauseMs = this.#retryMs();
    }
  }

  /** Whether another process holds the lease or the deadline has passed. Other failed attempts are repeated. */
  async #renewalIsRefused(): Promise<boolean> {
    if (await this.#attempt(this.#remainingMs())) return false;
    return this.#remainingMs() <= 0 || this.#isHeldByAnother(this.#seen?.lease);
  }

  /** Tries once to take or renew the lease. An attempt that hangs leaves time for another attempt. */
  async #attempt(remainingMs: number): Promise<boolean> {
    const { clock } = this.#options;
    const limitMs = Math.min(remainingMs, this.#timings.renewDeadlineMs / 2);
    const sentAt = clock.monotonic();
    const sentTime = wallTime(clock);
    try {
      const lease = await within(clock, limitMs, (signal) => this.#takeOrRenew(signal));
      this.#logged = undefined;
      if (lease === undefined) return false;
      this.#see(lease);
      this.#renewedAt = sentAt;
      this.#renewedTime = sentTime;
      return this.#remainingMs() > 0;
    } catch (error) {
      this.#noteRetryAfter(error);
      // The lease as read may be outdated: read it again next time.
      this.#seen = this.#seen && { ...this.#seen, lease: withoutVersion(this.#seen.lease) };
      if (isKubeError(error, "Conflict") || isKubeError(error, "AlreadyExists")) return false;
      this.#logFailure(error);
      return false;
    }
  }

  /**
   * Repeats of the same failure are logged once a minute. The API server answers "not found" to the creation of a Lease
   * only if its namespace is missing.
   */
  #logFailure(error: unknown): void {
    const { log, namespace, clock } = this.#options;
    const { message } = toError(error);
    const isRepeated =
      this.#logged?.message === message && clock.monotonic() < this.#logged.at + REPEATED_LOG_MS;
    if (isRepeated) return;
    this.#logged = { message, at: clock.monotonic() };
    if (isKubeError(error, "NotFound") && this.#seen === undefined) {
      const fix = `kubectl create namespace ${namespace}`;
      log.warn({ namespace, fix }, "the operator's namespace does not exist");
    } else log.warn({ err: toError(error) }, "could not take or renew the lease");
  }

  /** The lease as written, or `undefined` if this process does not hold it. */
  async #takeOrRenew(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name } = this.#options;
    if (this.#isOurs(this.#seen?.lease) && this.#seen?.lease.metadata.resourceVersion) {
      return this.#write(this.#seen.lease, signal);
    }
    const lease = await client.get(leaseType, { namespace, name }, { signal });
    if (lease === undefined) return this.#create(signal);
    this.#see(lease);
    const canAcquire = !this.#isHeldByAnother(lease) || this.#untilExpiryMs() <= 0;
    return canAcquire ? this.#write(lease, signal) : undefined;
  }

  /** Creates the lease: as ours if we lead; otherwise `undefined`, and every candidate must wait. */
  async #create(signal: AbortSignal): Promise<Lease | undefined> {
    const { client, namespace, name, identity } = this.#options;
    const holder = this.#isHolding ? identity : UNKNOWN_HOLDER;
    const metadata = this.#withHandover({ namespace, name });
    const lease = leaseObject(metadata, this.#nextSpec(undefined, holder));
    this.#see(await client.create(leaseType, lease, { signal }));
    return holder === identity ? this.#seen?.lease : undefined;
  }

  #write(lease: Lease, signal?: AbortSignal): Promise<Lease> {
    const spec = this.#nextSpec(lease.spec, this.#options.identity);
    const next = leaseObject(this.#withHandover(lease.metadata), spec);
    return this.#options.client.replace(leaseType, next, signal === undefined ? {} : { signal });
  }

  #takeHandover(): void {
    this.#options.handover?.take(this.#seen?.lease.metadata.annotations ?? {});
    this.#hasTakenHandover = true;
  }

  /** Adds the data for the next leader, but only after the data of the previous leader was taken. */
  #withHandover(metadata: ObjectMeta): ObjectMeta {
    const { handover } = this.#options;
    if (handover === undefined || !this.#hasTakenHandover) return metadata;
    const annotations = Object.entries({ ...metadata.annotations, ...handover.leave() }).flatMap(
      ([key, text]) => (text === undefined ? [] : [[key, text] as const]),
    );
    return { ...metadata, annotations: Object.fromEntries(annotations) };
  }

  #nextSpec(old: LeaseSpec | undefined, holder: string): LeaseSpec {
    const now = toMicroTime(this.#options.clock.now());
    const isSame = old?.holderIdentity === holder;
    return {
      holderIdentity: holder,
      leaseDurationSeconds: Math.ceil(this.#timings.leaseMs / SECOND),
      acquireTime: (isSame ? old.acquireTime : undefined) ?? now,
      renewTime: now,
      leaseTransitions: (old?.leaseTransitions ?? 0) + (isSame || old === undefined ? 0 : 1),
    };
  }

  /** Records the lease as the server returned it. Time counts from the first observation of a state. */
  #see(lease: Lease): void {
    const before = this.#seen;
    const isSame = before !== undefined && stateOf(lease) === stateOf(before.lease);
    this.#seen = { lease, at: isSame ? before.at : this.#options.clock.monotonic() };
  }

  #isOurs(lease: Lease | undefined): lease is Lease {
    return lease?.spec?.holderIdentity === this.#options.identity;
  }

  #isHeldByAnother(lease: Lease | undefined): boolean {
    const holder = lease?.spec?.holderIdentity ?? "";
    if (holder === UNKNOWN_HOLDER && this.#isHolding) return false;
    return holder !== "" && holder !== this.#options.identity;
  }

  /** Time until the lease of another process may be taken. Uses its lease duration if it is longer than ours. */
  #untilExpiryMs(): number {
    if (this.#seen === undefined) return Number.POSITIVE_INFINITY;
    const theirs = (this.#seen.lease.spec?.leaseDurationSeconds ?? 0) * SECOND;
    const expiry = this.#seen.at + Math.max(theirs, this.#timings.leaseMs);
    return expiry - this.#options.clock.monotonic();
  }

  #retryMs(): number {
    return jittered(this.#timings.retryMs, JITTER, this.#options.random.fraction());
  }

  /** The usual time, at most `mostMs`, but no shorter than the server requires. */
  #untilNextTryMs(usualMs: number, mostMs: number): number {
    const asked = this.#askedPauseUntil - this.#options.clock.monotonic();
    return Math.max(Math.min(usualMs, mostMs), asked);
  }

  /** Limits `Retry-After` to leave time for another attempt: a lost lease would increase the load of the server. */
  #noteRetryAfter(error: unknown): void {
    const { clock } = this.#options;
    if (!isKubeError(error) || error.retryAt === undefined) return;
    const asked = Math.min(error.retryAt - clock.now(), this.#timings.renewDeadlineMs / 2);
    this.#askedPauseUntil = clock.monotonic() + asked;
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.clock.sleep(Math.max(1, ms), signal).catch(() => undefined);
  }

  /** Lets the next candidate lead at once. Best effort: if it fails, the candidate waits until the lease expires. */
  async #release(): Promise<void> {
    const seen = this.#seen?.lease;
    this.#renewedAt = undefined;
    if (!this.#isOurs(seen)) return;
    const { client, namespace, name, clock, log } = this.#options;
    try {
      await within(clock, this.#timings.retryMs, async (signal) => {
        const isKnown = seen.metadata.resourceVersion !== undefined;
        const lease = isKnown ? seen : await client.get(leaseType, { namespace, name }, { signal });
        if (!this.#isOurs(lease)) return;
        await client.replace(leaseType, this.#released(lease), { signal });
        log.info({}, "released the lease");
      });
    } catch (error) {
      log.warn({ err: toError(error) }, "could not release the lease");
    }
  }

  #released({ metadata, spec: { leaseTransitions = 0 } = {} }: Lease): Lease {
    const now = toMicroTime(this.#options.clock.now());
    return leaseObject(this.#withHandover(metadata), {
      holderIdentity: "",
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions,
    });
  }
}

function leaseObject(metadata: KubeObject["metadata"], spec: LeaseSpec): Lease {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
}

/** A lease that was deleted and created again has a different state, even with an equal spec. */
function stateOf({ metadata, spec }: Lease): string {
  return JSON.stringify([metadata.uid, spec]);
}

function withoutVersion(lease: Lease): Lease {
  const { resourceVersion: _, ...metadata } = lease.metadata;
  return { ...lease, metadata };
}

function notLeading(): KubeError {
  return new KubeError(
    "NotLeading",
    "this process does not lead, or could lose the lease too soon",
  );
}

/** Rejects after `ms` even if the call ignores its signal. */
async function within<T>(
  clock: Clock,
  ms: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController();
  const reason = new KubeError("Timeout", `no answer within ${Math.round(ms)} ms`);
  const cancel = clock.setTimer(Math.max(0, ms), () => limit.abort(reason));
  try {
    return await Promise.race([
      call(limit.signal),
      aborted(limit.signal).then(() => Promise.reject(reason)),
    ]);
  } finally {
    cancel();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
