/** What goes wrong, as plain data: a plan is a list of these, and a run with a plan repeats itself. */
import type { Refusal, ServerFault } from "../server-fault.ts";

export type ServerName = "kube" | "iam";

/** Whose wall clock steps: the leading operator's, or a server's. */
export type ClockOwner = "operator" | ServerName;

/** Which calls a fault strikes: the nth of those that fit, counted over the whole run, from 1. */
export interface CallSelector {
  readonly server?: ServerName;
  /** `issueKey`, `apply secrets`, `patch apikeys/status`; absent: any. */
  readonly operation?: string;
  /** Absent: both. */
  readonly mutating?: boolean;
  readonly nth: number;
  /** How many in a row from there; 1 by default. */
  readonly times?: number;
}

/** What happens to one call: on its way and at the server, or to the process that sends it. */
export type CallFault =
  | ServerFault
  /** [F1] The process dies: nothing was sent; it was done, but no answer came; just after the answer. */
  | { readonly kind: "Crash"; readonly when: "BeforeSend" | "AfterCommit" | "AfterAnswer" }
  /** [F3] The process is stopped for a while: with the call decided on but not sent; while the answer is on its way. */
  | { readonly kind: "Pause"; readonly when: "BeforeSend" | "AfterCommit"; readonly ms: number };

/** [F4, F5, F6, F7] What happens to a watch, or to its nth event. */
export type WatchFault =
  /** Nothing comes any more from the nth event on; 0: nothing at all, not even what was there before. */
  | { readonly kind: "Frozen"; readonly nth: number }
  | { readonly kind: "Dropped"; readonly nth: number }
  | { readonly kind: "Doubled"; readonly nth: number }
  /** The connection breaks where the nth event was to come. */
  | { readonly kind: "Torn"; readonly nth: number }
  | { readonly kind: "Late"; readonly ms: number }
  | { readonly kind: "Expired" }
  /** The server is behind: it shows an older state at first, and the rest `ms` later. */
  | { readonly kind: "Stale"; readonly revisions: number; readonly ms: number }
  /** Refused instead of being opened. */
  | Refusal
  /** Other bytes come instead of the nth event; `ends`: and then the stream ends. */
  | {
      readonly kind: "Garbled";
      readonly nth: number;
      readonly text: string;
      readonly ends?: boolean;
    };

/** What somebody or something does to the world. */
export type WorldEvent =
  /** [F17, F18] */
  | { readonly kind: "DeleteSecret" }
  | { readonly kind: "EditSecret"; readonly how: "TearPair" | "RemoveEntry" | "MakeImmutable" }
  /** [F20] */
  | { readonly kind: "DeleteNamespace" }
  /** [F21, F22] */
  | { readonly kind: "DeleteObject"; readonly plural: string }
  | { readonly kind: "RecreateObject"; readonly plural: string }
  /** [F24] */
  | { readonly kind: "WipeStatus"; readonly plural: string }
  /** [F25] */
  | { readonly kind: "RemoveFinalizers"; readonly plural: string }
  /** [F28] */
  | { readonly kind: "RevokeTokens" }
  | { readonly kind: "DemandSecondFactor" }
  /** An administrator of the console disables the keys in use, has them expire, or deletes them; or enables them again after `forMs`. */
  | {
      readonly kind: "EndKeys";
      readonly how: "Disable" | "Expire" | "Delete";
      readonly forMs?: number;
    }
  /** The same for the accounts; one that was deleted stays so. */
  | { readonly kind: "EndAccounts"; readonly how: "Disable" | "Delete"; readonly forMs?: number }
  /** [F16] What is stored goes back to what it was then, and so do versions, unless they are moved on. */
  | { readonly kind: "Restore"; readonly backMs: number; readonly bumped: boolean }
  /** [F15] The wall clock of a machine steps, and steps back after `forMs` if that is given. */
  | {
      readonly kind: "JumpClock";
      readonly ms: number;
      /** The operator's if absent. */
      readonly of?: ClockOwner;
      readonly forMs?: number;
    }
  /** [F1, F2] The process is killed, or asked to end; another one starts soon after. */
  | { readonly kind: "Kill" }
  | { readonly kind: "Stop" }
  /** [F3] The leader is stopped for a while and continued; the lease is taken from it by somebody, or is gone. */
  | { readonly kind: "PauseLeader"; readonly ms: number }
  | { readonly kind: "StealLease" }
  | { readonly kind: "DeleteLease" }
  /** [F7] The history is forgotten: watches and pages expire. */
  | { readonly kind: "Compact" }
  /** For `forMs`, the console's lists come from a replica that is `ms` behind. */
  | { readonly kind: "ListsBehind"; readonly ms: number; readonly forMs: number };

export type Fault =
  | { readonly on: "call"; readonly select: CallSelector; readonly fault: CallFault }
  | {
      readonly on: "watch";
      readonly plural: string;
      readonly nth: number;
      readonly fault: WatchFault;
    }
  | { readonly on: "world"; readonly afterMs: number; readonly event: WorldEvent };

export interface Plan {
  readonly name: string;
  readonly faults: readonly Fault[];
}

export const NO_FAULTS: Plan = { name: "no faults", faults: [] };

/** A call as selectors see it. */
export interface FaultedCall {
  readonly server: ServerName;
  readonly operation: string;
  readonly mutating: boolean;
}

/** Counts calls and hands out the faults that strike them. */
export class FaultPlan {
  readonly plan: Plan;
  /** Faults that have struck at least once. */
  readonly struck = new Set<Fault>();
  readonly #counts = new Map<Fault, number>();
  readonly #streams = new Map<string, number>();
  #pending = 0;
  #ended = 0;
  #hasCeased = false;

  constructor(plan: Plan) {
    this.plan = plan;
  }

  /** From here on nothing goes wrong any more. */
  cease(): void {
    this.#hasCeased = true;
  }

  /** Has something happen at a later time because of a fault; to be called when it has happened. */
  defer(): () => void {
    this.#pending += 1;
    return () => {
      this.#pending -= 1;
      this.#ended += 1;
    };
  }

  /** How much is still to happen because of faults that have struck. */
  get pending(): number {
    return this.#pending;
  }

  /** How much has happened later than its fault struck. */
  get ended(): number {
    return this.#ended;
  }

  get allStruck(): boolean {
    return this.struck.size === this.plan.faults.length;
  }

  strike(call: FaultedCall): CallFault | undefined {
    if (this.#hasCeased) return undefined;
    let found: CallFault | undefined;
    for (const fault of this.plan.faults) {
      if (fault.on !== "call" || !fits(fault.select, call)) continue;
      const count = this.#count(fault);
      const { nth, times = 1 } = fault.select;
      if (count < nth || count >= nth + times) continue;
      found ??= fault.fault;
      this.struck.add(fault);
    }
    return found;
  }

  /** Which stream of its kind a new one is, and what befalls it. */
  strikeWatch(plural: string): { stream: number; fault: WatchFault | undefined } {
    const stream = (this.#streams.get(plural) ?? 0) + 1;
    this.#streams.set(plural, stream);
    const found = this.#hasCeased ? undefined : this.#watchFault(plural, stream);
    return { stream, fault: found };
  }

  #watchFault(plural: string, stream: number): WatchFault | undefined {
    for (const fault of this.plan.faults) {
      if (fault.on !== "watch" || fault.plural !== plural) continue;
      if (stream !== fault.nth) continue;
      this.struck.add(fault);
      return fault.fault;
    }
    return undefined;
  }

  #count(fault: Fault): number {
    const count = (this.#counts.get(fault) ?? 0) + 1;
    this.#counts.set(fault, count);
    return count;
  }
}

function fits({ server, operation, mutating }: CallSelector, call: FaultedCall): boolean {
  return (
    (server === undefined || server === call.server) &&
    (operation === undefined || operation === call.operation) &&
    (mutating === undefined || mutating === call.mutating)
  );
}
