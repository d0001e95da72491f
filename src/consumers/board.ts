/** What is known about the Pods that use the Secrets of ApiKeys, for controllers that report it or wait for it. */

/** What the operator does about consumers: nothing, count Pods, or also restart workloads. */
export type ConsumersMode = "none" | "count" | "restart";

export interface Count {
  readonly kind: "Counted";
  /** The version of the Secret that the count refers to; see {@link contentHash}. */
  readonly hash: string;
  readonly pods: number;
  readonly stale: number;
  /** The names of some stale Pods. */
  readonly staleNames: readonly string[];
  /** The result of spec.rollout; absent if it is not set or restarts are not allowed. */
  readonly rollout?: RolloutNote;
}

export interface RolloutNote {
  readonly isDone: boolean;
  readonly reason: string;
  readonly message: string;
}

export type Consumers =
  | Count
  /** The Pods could not be read. */
  | { readonly kind: "Unknown"; readonly reason: string; readonly message: string };

export interface ConsumersView {
  readonly mode: ConsumersMode;
  /** By the ApiKey's uid; `undefined` before the first count. */
  of(uid: string): Consumers | undefined;
}

/** For an operator that never reads Pods. */
export const noConsumers: ConsumersView = { mode: "none", of: () => undefined };

/** Kept in memory only: after a restart the Pods are counted again. */
export class ConsumersBoard implements ConsumersView {
  readonly mode: ConsumersMode;
  readonly #known = new Map<string, Consumers>();

  constructor(mode: ConsumersMode) {
    this.mode = mode;
  }

  of(uid: string): Consumers | undefined {
    return this.#known.get(uid);
  }

  /** Returns whether the value has changed. */
  put(uid: string, consumers: Consumers): boolean {
    const isNews = JSON.stringify(this.#known.get(uid)) !== JSON.stringify(consumers);
    this.#known.set(uid, consumers);
    return isNews;
  }

  delete(uid: string): void {
    this.#known.delete(uid);
  }
}
