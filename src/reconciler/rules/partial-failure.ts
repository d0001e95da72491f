import type { EventOf } from "./report.ts";

/** A failure after a change: the run ends with `cause`, its events, and a report about `snapshot`. */
export class PartialFailure<
  Snapshot extends { readonly object: object } = { readonly object: object },
> extends Error {
  override readonly name = "PartialFailure";
  readonly snapshot: Snapshot;
  readonly events: readonly EventOf[];

  constructor(snapshot: Snapshot, cause: unknown, events: readonly EventOf[] = []) {
    super("the reconcile failed part of the way", { cause });
    this.snapshot = snapshot;
    this.events = events;
  }
}

/** The error of a failed run, and the snapshot that its report is about: `before`, unless the failure has its own. */
export function failureIn<Snapshot>(
  thrown: unknown,
  before: Snapshot,
): {
  readonly error: unknown;
  readonly snapshot: Snapshot;
  readonly events: readonly EventOf[];
} {
  if (!(thrown instanceof PartialFailure)) return { error: thrown, snapshot: before, events: [] };
  const { cause, snapshot, events } = thrown;
  return { error: cause, snapshot: snapshot as Snapshot, events };
}
