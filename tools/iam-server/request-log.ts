/** Every request that arrived, without its secrets. */
import type { Instant } from "../../src/util/time.ts";
import type { OfferedAuth } from "./authentication.ts";
import type { AnyOperation } from "./operations.ts";

export interface RequestRecord {
  /** Counts from 1 over the life of the server. */
  readonly sequence: number;
  readonly at: Instant;
  /** `undefined`: a call which the API description does not show. */
  readonly operation: AnyOperation | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, readonly string[]>>;
  readonly auth: OfferedAuth;
  /** The key id or the user name behind accepted credentials. */
  principal: string | undefined;
  /** The JSON body; password and secret are replaced by asterisks. */
  body: unknown;
  /** Query parameters which the description does not name for this call. */
  readonly undocumentedParameters: readonly string[];
  /** Status as the console decided it, even where a fault then changed the answer. */
  decided: number | undefined;
  /** Status as it was sent; `undefined` while unanswered, and for ever after a reset or a hang. */
  status: number | undefined;
  /** Kinds of the faults which acted on it. */
  readonly faults: string[];
}

const HIDDEN = new Set(["password", "secret"]);

export class RequestLog {
  readonly #capacity: number;
  #records: RequestRecord[] = [];
  #sequence = 0;
  #inFlight = 0;
  #maxInFlight = 0;
  readonly #counts = new Map<string, number>();
  /** Calls which the API description does not show: must stay empty. */
  readonly unknownCalls: RequestRecord[] = [];

  /** Keeps at least the latest `capacity` records; counters cover everything. */
  constructor(capacity = 20_000) {
    this.#capacity = capacity;
  }

  /** Oldest first. */
  get all(): readonly RequestRecord[] {
    return this.#records;
  }

  of(operation: AnyOperation): readonly RequestRecord[] {
    return this.#records.filter((record) => record.operation === operation);
  }

  /** How often a call was made since the start or the last `clear`. */
  count(operation: AnyOperation): number {
    return this.#counts.get(operation) ?? 0;
  }

  /** Calls per operation; those which are not shown under `unknown`. */
  counts(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  /** Requests that arrived and are not answered yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get maxInFlight(): number {
    return this.#maxInFlight;
  }

  clear(): void {
    this.#records = [];
    this.unknownCalls.length = 0;
    this.#counts.clear();
    this.#maxInFlight = this.#inFlight;
  }

  open(
    arrival: Omit<
      RequestRecord,
      "sequence" | "principal" | "body" | "decided" | "status" | "faults"
    >,
  ): RequestRecord {
    this.#sequence += 1;
    const record: RequestRecord = {
      sequence: this.#sequence,
      ...arrival,
      principal: undefined,
      body: undefined,
      decided: undefined,
      status: undefined,
      faults: [],
    };
    this.#records.push(record);
    if (this.#records.length > 2 * this.#capacity) {
      this.#records = this.#records.slice(-this.#capacity);
    }
    if (record.operation === undefined && this.unknownCalls.length < 1_000) {
      this.unknownCalls.push(record);
    }
    const name = record.operation ?? "unknown";
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.#inFlight += 1;
    this.#maxInFlight = Math.max(this.#maxInFlight, this.#inFlight);
    return record;
  }

  /** The connection behind a record has been answered or has ended. */
  close(): void {
    this.#inFlight -= 1;
  }
}

/** A body with its secrets covered. */
export function withoutSecrets(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, HIDDEN.has(name) ? "***" : value]),
  );
}
