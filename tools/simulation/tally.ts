/** What many runs come to, in a form that travels between threads. */
import type { Fault } from "./faults.ts";
import type { Violation } from "./invariants.ts";
import type { Judged, SelectedRun } from "./run-selection.ts";

export interface Failure {
  readonly selected: SelectedRun;
  readonly violations: readonly Violation[];
  /** Repeats this very run. */
  readonly replay: string;
}

export interface Tally {
  runs: number;
  /** Runs in which every fault of the plan came to strike. */
  complete: number;
  events: number;
  failures: Failure[];
  /** How often what was struck by what: operation, or kind of a watch, then fault. */
  coverage: Record<string, Record<string, number>>;
}

export function newTally(): Tally {
  return { runs: 0, complete: 0, events: 0, failures: [], coverage: {} };
}

export function count(tally: Tally, { run }: Judged): void {
  tally.runs += 1;
  tally.events += run.events;
  if (run.isComplete) tally.complete += 1;
  for (const { server, operation, fault } of run.calls)
    if (fault !== undefined) strike(tally, `${server} ${operation}`, labelOf(fault));
  for (const fault of run.world.faults.struck) {
    if (fault.on === "watch") strike(tally, `watch ${fault.plural}`, labelOf(fault.fault));
    if (fault.on === "world") strike(tally, "world", labelOf(fault.event));
  }
}

export function merge(tally: Tally, more: Tally): void {
  tally.runs += more.runs;
  tally.complete += more.complete;
  tally.events += more.events;
  tally.failures.push(...more.failures);
  for (const [row, cells] of Object.entries(more.coverage))
    for (const [column, times] of Object.entries(cells)) strike(tally, row, column, times);
}

/** A fault as a column of the table: its kind and what sort of it. */
export function labelOf(
  fault:
    | Extract<Fault, { on: "call" | "watch" }>["fault"]
    | Extract<Fault, { on: "world" }>["event"],
): string {
  const sorts = ["when", "how", "status", "plural", "answer", "of"] as const;
  const sort = sorts.map((name) =>
    name in fault ? (fault as Record<string, unknown>)[name] : undefined,
  );
  return [fault.kind, ...sort.filter((part) => part !== undefined)].join(" ");
}

function strike(tally: Tally, row: string, column: string, times = 1): void {
  tally.coverage[row] ??= {};
  const cells = tally.coverage[row];
  cells[column] = (cells[column] ?? 0) + times;
}
