/** A server that knows one Lease, and processes whose clocks and luck differ. */
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import type { Lease } from "../../../src/kube/resource-types.ts";
import type { Clock } from "../../../src/util/time.ts";
import type { FakeClock } from "../../support/fake-clock.ts";

export class LeaseServer {
  /** Released at first, as by an operator that has stopped. */
  lease: Lease | undefined = {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { namespace: "iam", name: "iam-operator", resourceVersion: "0" },
    spec: { holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 7 },
  };
  readonly holders: string[] = [];
  #version = 0;

  create(lease: Lease): Lease {
    if (this.lease !== undefined) throw new KubeError("AlreadyExists", "there is one");
    return this.#store(lease);
  }

  replace(lease: Lease): Lease {
    if (this.lease === undefined) throw new KubeError("NotFound", "there is none");
    const { resourceVersion } = lease.metadata;
    if (resourceVersion !== this.lease.metadata.resourceVersion) {
      throw new KubeError("Conflict", "another version");
    }
    return this.#store(lease);
  }

  #store(lease: Lease): Lease {
    this.#version += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: `${this.#version}` } };
    const holder = lease.spec?.holderIdentity ?? "";
    if (holder !== this.holders.at(-1)) this.holders.push(holder);
    return this.lease;
  }
}

export interface ProcessTraits {
  /** How fast its clock runs. */
  readonly rate?: number;
  /** How wrong its wall clock is. */
  readonly skewMs?: number;
  readonly latencyMs?: number;
}

/** One candidate's surroundings: it can be stopped like a process, and cut off from the server. */
export class Process {
  readonly clock: Clock;
  readonly client: KubeClient;
  /** What becomes of its calls. A lost answer belongs to a call that was carried out. */
  network: "up" | "down" | "answersLost" | "hanging" = "up";
  /** What the server answers with while it wants to be left alone. */
  retryAfterMs: number | undefined;
  /** When its calls were sent. */
  readonly sentAt: number[] = [];
  readonly #world: FakeClock;
  readonly #latencyMs: number;
  #awake = true;
  readonly #missed: (() => void)[] = [];

  constructor(world: FakeClock, server: LeaseServer, traits: ProcessTraits = {}) {
    const { rate = 1, skewMs = 0, latencyMs = 5 } = traits;
    this.#world = world;
    this.#latencyMs = latencyMs;
    const setTimer = (ms: number, callback: () => void) => {
      let cancelled = false;
      const cancel = world.setTimer(ms / rate, () =>
        this.#whenAwake(() => !cancelled && callback()),
      );
      return () => {
        cancelled = true;
        cancel();
      };
    };
    this.clock = {
      now: () => world.now() * rate + skewMs,
      monotonic: () => world.monotonic() * rate,
      setTimer,
      sleep: (ms, signal) =>
        new Promise((resolve, reject) => {
          const cancel = setTimer(ms, resolve);
          const abort = () => {
            cancel();
            reject(signal?.reason);
          };
          if (signal?.aborted) abort();
          else signal?.addEventListener("abort", abort, { once: true });
        }),
    };
    this.client = this.#connect(server);
  }

  get awake(): boolean {
    return this.#awake;
  }

  /** SIGSTOP: timers and answers wait. */
  pause(): void {
    this.#awake = false;
  }

  /** SIGCONT: everything that was missed comes at once. */
  resume(): void {
    this.#awake = true;
    for (const callback of this.#missed.splice(0)) callback();
  }

  #whenAwake(callback: () => void): void {
    if (this.#awake) callback();
    else this.#missed.push(callback);
  }

  #connect(server: LeaseServer): KubeClient {
    const refuse = () => Promise.reject(new Error("not needed"));
    return {
      get: <T extends KubeObject>() =>
        this.#call(() => server.lease) as unknown as Promise<T | undefined>,
      create: <T extends KubeObject>(_: ResourceType<T>, lease: T) =>
        this.#call(() => server.create(lease)) as unknown as Promise<T>,
      replace: <T extends KubeObject>(_: ResourceType<T>, lease: T) =>
        this.#call(() => server.replace(lease)) as unknown as Promise<T>,
      list: refuse,
      collect: refuse,
      apply: refuse,
      mergePatch: refuse,
      delete: refuse,
    };
  }

  async #call<T>(carryOut: () => T): Promise<T> {
    const { network, retryAfterMs } = this;
    this.sentAt.push(this.#world.monotonic());
    await this.#world.sleep(this.#latencyMs);
    if (retryAfterMs !== undefined)
      return this.#answer(() => {
        const retryAt = this.clock.now() + retryAfterMs;
        throw new KubeError("RateLimited", "too many requests", { retryAt });
      });
    if (network === "down") return this.#answer(() => unavailable());
    if (network === "hanging") return new Promise<T>(() => undefined);
    try {
      const answer = carryOut();
      return await this.#answer(() => (network === "answersLost" ? unavailable() : answer));
    } catch (error) {
      return this.#answer(() => {
        throw error;
      });
    }
  }

  async #answer<T>(answer: () => T): Promise<T> {
    await this.#world.sleep(this.#latencyMs);
    await new Promise<void>((resolve) => this.#whenAwake(resolve));
    return answer();
  }
}

function unavailable(): never {
  throw new KubeError("Unavailable", "no answer");
}
