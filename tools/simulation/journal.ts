/** Every call of a run, in the order in which they were sent. */
import type { CallFault, ServerName } from "./faults.ts";

export interface CallRecord {
  readonly sequence: number;
  /** The how-manieth call of its process it is, from 1. */
  readonly ordinal: number;
  readonly sentAt: number;
  /** Which process sent it. */
  readonly process: string;
  readonly server: ServerName;
  readonly operation: string;
  /** Of what: namespace and name, or the path's last part. */
  readonly target: string;
  /** Of calls about bound policies: whose. */
  readonly tpn?: string | undefined;
  readonly mutating: boolean;
  /** Whether it changes an object only if that is still the one, or the version, that the caller has seen. */
  readonly isConditional: boolean;
  readonly fault: CallFault | undefined;
  /** The server's revision when it was sent. */
  readonly sentRevision: number;
  /** When the server did it, if it did; virtual time. */
  committedAt: number | undefined;
  /** The server's revision before it was done. */
  revision: number | undefined;
  /** Whether a gateway does it late, or again. */
  isPutOff: boolean;
  /** Status of the answer as it reached the caller, or why there was none. */
  outcome: string | undefined;
}

/** An event as a watch was to deliver it. */
export interface WatchRecord {
  readonly at: number;
  readonly plural: string;
  /** Which stream of the kind, and which event of the stream; from 1. */
  readonly stream: number;
  readonly nth: number;
}

export class Journal {
  readonly calls: CallRecord[] = [];
  readonly watched: WatchRecord[] = [];
  readonly #ofProcess = new Map<string, number>();

  open(
    call: Omit<
      CallRecord,
      "sequence" | "ordinal" | "committedAt" | "revision" | "isPutOff" | "outcome"
    >,
  ): CallRecord {
    const ordinal = (this.#ofProcess.get(call.process) ?? 0) + 1;
    this.#ofProcess.set(call.process, ordinal);
    const record: CallRecord = {
      sequence: this.calls.length + 1,
      ordinal,
      ...call,
      committedAt: undefined,
      revision: undefined,
      isPutOff: false,
      outcome: undefined,
    };
    this.calls.push(record);
    return record;
  }

  /** Calls of which a server did its part, but which a fault befell. */
  get struckCommits(): readonly CallRecord[] {
    return this.calls.filter(
      ({ fault, committedAt }) => fault !== undefined && committedAt !== undefined,
    );
  }

  /** The call that is being done at this moment because a gateway put it off or sent it again. */
  putOff(now: number): CallRecord | undefined {
    return this.calls.find(({ isPutOff, committedAt }) => isPutOff && committedAt === now);
  }

  /** How often an operation was done. */
  committed(operation: string): number {
    return this.calls.filter(
      (call) => call.operation === operation && call.committedAt !== undefined,
    ).length;
  }
}

export function describeCall({
  process,
  server,
  operation,
  target,
  fault,
  outcome,
}: CallRecord): string {
  const struck = fault === undefined ? "" : ` [${JSON.stringify(fault)}]`;
  return `${process} ${server} ${operation} ${target} -> ${outcome ?? "-"}${struck}`;
}
