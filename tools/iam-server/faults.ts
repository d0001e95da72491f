/** What goes wrong between a caller and the console: which faults strike which calls, and other conditions. */
import { z } from "zod";
import { Moment, SERVER_FAULTS } from "../server-fault.ts";
import { ALL_OPERATION_NAMES, type AnyOperation } from "./operations.ts";
import type { RequestRecord } from "./request-log.ts";

/** All but `Slow` and `Hold` end the call. */
export const ConsoleFault = z.discriminatedUnion("kind", [
  ...SERVER_FAULTS,
  /** Goes on when the fault is released. */
  z.strictObject({ kind: z.literal("Hold"), when: Moment }),
  /** Done, and the response comes in small pieces. */
  z.strictObject({
    kind: z.literal("Drip"),
    intervalMs: z.number().min(0),
    chunkBytes: z.int().min(1).optional(),
  }),
]);
export type ConsoleFault = z.infer<typeof ConsoleFault>;

/** They strike when everything but the answer is done. */
const AFTER_COMMIT: ReadonlySet<ConsoleFault["kind"]> = new Set([
  "Garble",
  "Huge",
  "Answer",
  "Drip",
]);

function momentOf(fault: ConsoleFault): Moment {
  if ("when" in fault) return fault.when;
  return AFTER_COMMIT.has(fault.kind) ? "AfterCommit" : "BeforeCommit";
}

export const FaultRule = z.strictObject({
  /** Absent: every call, also those which are not shown. */
  operation: z.enum(ALL_OPERATION_NAMES as [AnyOperation, ...AnyOperation[]]).optional(),
  fault: ConsoleFault,
  /** Acts first on the nth matching call; default 1. */
  nth: z.int().min(1).optional(),
  /** On how many calls from there; default 1. */
  times: z.union([z.int().min(1), z.literal("always")]).optional(),
  /** Only calls whose path contains this. */
  pathIncludes: z.string().optional(),
});

/** A fault, with a free condition where it is set up in the same process. */
export type FaultRule = z.infer<typeof FaultRule> & {
  readonly where?: (request: RequestRecord) => boolean;
};

/** A fault that has been set up. */
export interface Fault {
  readonly id: number;
  readonly rule: FaultRule;
  /** Calls which matched, and calls on which it acted. */
  readonly matched: number;
  readonly hits: number;
  /** Resolves with the first call on which it acts. */
  readonly reached: Promise<RequestRecord>;
  /** Lets calls on `hold` go on, now and from now on. */
  release(): void;
  remove(): void;
}

/** All conditions under which calls are answered. */
export class Faults {
  /** Added to every call. */
  latencyMs = 0;
  /** How long a new key is unknown after it was issued. */
  keyPropagationMs = 0;
  /** How far behind the replica is that answers the lists. */
  listsBehindMs = 0;
  /** How far the `Date` header is from the console's own clock. */
  dateSkewMs = 0;
  readonly #active = new Map<number, ActiveFault>();
  readonly #listen: (wanted: boolean) => Promise<void>;
  #nextId = 1;

  constructor(listen: (wanted: boolean) => Promise<void>) {
    this.#listen = listen;
  }

  add(rule: FaultRule): Fault {
    const id = this.#nextId++;
    const fault = new ActiveFault(id, rule, () => this.#active.delete(id));
    this.#active.set(id, fault);
    return fault;
  }

  get list(): readonly Fault[] {
    return [...this.#active.values()];
  }

  /** Everything back to normal: faults, latency, propagation, lag, skew, listening. */
  async clear(): Promise<void> {
    for (const fault of this.#active.values()) fault.release();
    this.#active.clear();
    this.latencyMs = 0;
    this.keyPropagationMs = 0;
    this.listsBehindMs = 0;
    this.dateSkewMs = 0;
    await this.setListening(true);
  }

  /** While it does not listen, connections are refused. */
  setListening(wanted: boolean): Promise<void> {
    return this.#listen(wanted);
  }

  /** The faults which act on this call at this moment, in the order they were set up. */
  acting(when: Moment, request: RequestRecord): readonly ActiveFault[] {
    if (this.#active.size === 0) return [];
    return [...this.#active.values()].filter((fault) => fault.acts(when, request));
  }
}

/** A fault as the server sees it. */
export class ActiveFault implements Fault {
  readonly id: number;
  readonly rule: FaultRule;
  matched = 0;
  hits = 0;
  readonly remove: () => void;
  readonly #reached = Promise.withResolvers<RequestRecord>();
  readonly #released = Promise.withResolvers<void>();

  constructor(id: number, rule: FaultRule, remove: () => void) {
    this.id = id;
    this.rule = rule;
    this.remove = () => {
      this.release();
      remove();
    };
  }

  get reached(): Promise<RequestRecord> {
    return this.#reached.promise;
  }

  /** Resolves when held calls may go on. */
  get released(): Promise<void> {
    return this.#released.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  /** Counts the call if it matches, and says whether the fault acts on it. */
  acts(when: Moment, request: RequestRecord): boolean {
    if (momentOf(this.rule.fault) !== when || !this.#matches(request)) return false;
    this.matched += 1;
    const first = this.rule.nth ?? 1;
    const times = this.rule.times ?? 1;
    const last = times === "always" ? Infinity : first + times - 1;
    if (this.matched < first || this.matched > last) return false;
    this.hits += 1;
    this.#reached.resolve(request);
    return true;
  }

  #matches(request: RequestRecord): boolean {
    const { operation, pathIncludes, where } = this.rule;
    if (operation !== undefined && operation !== request.operation) return false;
    if (pathIncludes !== undefined && !request.path.includes(pathIncludes)) return false;
    return where?.(request) ?? true;
  }
}
