/** What can befall a leader at every step of what it does. */
import { SECOND } from "../../src/util/time.ts";
import type { Fault, Plan, WorldEvent } from "./faults.ts";
import type { CallRecord } from "./journal.ts";
import { withoutPolling } from "./plans.ts";

/** Longer than any lease. */
const PAUSE_MS = 30 * SECOND;
/** Long enough for a call to be late, too short for the lease to be taken. */
const SHORT_PAUSE_MS = 7 * SECOND;

/** Stopped and continued around each call; robbed of the lease, ended and killed at each moment. */
export function leaderPlans(calls: readonly CallRecord[], unleashedAt: number): readonly Plan[] {
  const steps = withoutPolling(calls.filter(({ sentAt }) => sentAt >= unleashedAt));
  const counts = countsOf(calls);
  return steps.flatMap((call) => [
    ...pauses(call, counts.get(call) ?? 1),
    ...(call.mutating ? losses(call.sentAt - unleashedAt + 1) : []),
  ]);
}

function pauses({ server, operation }: CallRecord, nth: number): readonly Plan[] {
  const select = { server, operation, nth };
  return (["BeforeSend", "AfterCommit"] as const).flatMap((when) =>
    [PAUSE_MS, SHORT_PAUSE_MS].map((ms) => {
      const fault = { kind: "Pause", when, ms } as const;
      return single(`${server} ${operation} #${nth}: paused ${when} for ${ms} ms`, {
        on: "call",
        select,
        fault,
      });
    }),
  );
}

const LOSSES: readonly WorldEvent[] = [
  { kind: "StealLease" },
  { kind: "DeleteLease" },
  { kind: "Stop" },
  { kind: "Kill" },
];

function losses(afterMs: number): readonly Plan[] {
  return LOSSES.map((event) =>
    single(`after ${Math.round(afterMs)} ms: ${event.kind}`, { on: "world", afterMs, event }),
  );
}

/** Which of its operation a call is, from 1. */
function countsOf(calls: readonly CallRecord[]): ReadonlyMap<CallRecord, number> {
  const counts = new Map<string, number>();
  return new Map(
    calls.map((call) => {
      const id = `${call.server} ${call.operation}`;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      return [call, counts.get(id) ?? 1];
    }),
  );
}

function single(name: string, fault: Fault): Plan {
  return { name, faults: [fault] };
}
