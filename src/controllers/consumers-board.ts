/** What is known about the Pods that use the Secrets of ApiKeys, for those who report it or wait for it. */

/** How far the operator goes: not at all, counting Pods, or also restarting workloads. */
export type ConsumersMode = "none" | "count" | "restart";

export interface Count {
  readonly kind: "Counted";
  /** The content of the Secret that the count is about; see {@link contentHash}. */
  readonly hash: string;
  readonly pods: number;
  readonly stale: number;
  /** Some of the stale ones, by name. */
  readonly staleNames: readonly string[];
  /** What became of spec.rollout; absent where there is none, or restarts are not allowed. */
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
  /** By the ApiKey's uid; `undefined` before the first look. */
  of(uid: string): Consumers | undefined;
}

/** Where no Pod is ever read. */
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

  /** Answers whether that is news. */
  put(uid: string, consumers: Consumers): boolean {
    const isNews = JSON.stringify(this.#known.get(uid)) !== JSON.stringify(consumers);
    this.#known.set(uid, consumers);
    return isNews;
  }

  delete(uid: string): void {
    this.#known.delete(uid);
  }
}
