/** Every single fault, at every call of a run without faults. */
import type { CallFault, Fault, Plan, WatchFault, WorldEvent } from "./faults.ts";
import type { CallRecord } from "./journal.ts";

export const crashFaults: readonly CallFault[] = [
  { kind: "Crash", when: "BeforeSend" },
  { kind: "Crash", when: "AfterCommit" },
  { kind: "Crash", when: "AfterAnswer" },
];

const lostFaults: readonly CallFault[] = [
  { kind: "Reset", when: "BeforeCommit" },
  { kind: "Reset", when: "AfterCommit" },
  { kind: "Silence", when: "BeforeCommit" },
  { kind: "Silence", when: "AfterCommit" },
  { kind: "Garble", how: "Truncated" },
  { kind: "Garble", how: "NotJson" },
  { kind: "Garble", how: "WrongType" },
  { kind: "Garble", how: "Nested" },
  { kind: "Garble", how: "Empty" },
  { kind: "Huge" },
  { kind: "Slow", ms: 1_500 },
];

const kubeRefusals: readonly CallFault[] = [
  { kind: "Refuse", status: 403 },
  { kind: "Refuse", status: 409 },
  { kind: "Refuse", status: 429, retryAfter: 2 },
  { kind: "Refuse", status: 500 },
  { kind: "Refuse", status: 503 },
];

const iamRefusals: readonly CallFault[] = [
  { kind: "Refuse", status: 401 },
  { kind: "Refuse", status: 429, retryAfter: 2 },
  { kind: "Refuse", status: 500 },
  { kind: "Refuse", status: 502 },
  { kind: "Refuse", status: 503 },
];

/** Which faults a call can suffer. */
export function faultsOf({ server, mutating }: CallRecord): readonly CallFault[] {
  const refusals = server === "kube" ? kubeRefusals : iamRefusals;
  return [...(mutating ? crashFaults : []), ...lostFaults, ...refusals];
}

/** One plan per call and fault. Calls are named by operation and count, so that a plan survives small changes. */
export function callPlans(calls: readonly CallRecord[]): readonly Plan[] {
  const counts = new Map<string, number>();
  return calls.flatMap((call) => {
    const id = `${call.server} ${call.operation}`;
    const nth = (counts.get(id) ?? 0) + 1;
    counts.set(id, nth);
    const select = { server: call.server, operation: call.operation, nth };
    return faultsOf(call).map((fault) => single(`${id} #${nth}`, { on: "call", select, fault }));
  });
}

/** What is meant by doing the same for all calls of a kind that only ask again and again. */
export function withoutPolling(calls: readonly CallRecord[], most = 6): readonly CallRecord[] {
  const counts = new Map<string, number>();
  return calls.filter(({ operation, mutating }) => {
    const count = (counts.get(operation) ?? 0) + 1;
    counts.set(operation, count);
    return mutating ? !operation.endsWith(" leases") || count <= most : count <= most;
  });
}

const watchFaults: readonly WatchFault[] = [
  { kind: "Frozen" },
  { kind: "Dropped", nth: 1 },
  { kind: "Dropped", nth: 2 },
  { kind: "Doubled", nth: 1 },
  { kind: "Late", ms: 3_000 },
  { kind: "Expired" },
  { kind: "Torn" },
];

export function watchPlans(plurals: readonly string[]): readonly Plan[] {
  return plurals.flatMap((plural) =>
    watchFaults.map((fault) => single(`watch ${plural}`, { on: "watch", plural, nth: 1, fault })),
  );
}

const OURS = ["apikeys", "serviceaccounts", "policybindings", "clusterconnections"];

const worldEvents: readonly WorldEvent[] = [
  { kind: "DeleteSecret" },
  { kind: "EditSecret", how: "TearPair" },
  { kind: "EditSecret", how: "RemoveEntry" },
  ...OURS.flatMap((plural): readonly WorldEvent[] => [
    // A new ServiceAccount does not take over the account of the old one: that is for a person to decide.
    ...(plural === "serviceaccounts" ? [] : [{ kind: "RecreateObject", plural } as const]),
    { kind: "WipeStatus", plural },
    { kind: "RemoveFinalizers", plural },
  ]),
  { kind: "RevokeTokens" },
  { kind: "JumpClock", ms: 300_000 },
  { kind: "JumpClock", ms: -300_000 },
  { kind: "Kill" },
  { kind: "Stop" },
  { kind: "Compact" },
];

/** Each event at each of these moments. */
export function worldPlans(moments: readonly number[]): readonly Plan[] {
  return worldEvents.flatMap((event) =>
    moments.map((afterMs) => single(`after ${afterMs} ms`, { on: "world", afterMs, event })),
  );
}

function single(where: string, fault: Fault): Plan {
  const what = fault.on === "world" ? fault.event : fault.fault;
  return { name: `${where}: ${JSON.stringify(what)}`, faults: [fault] };
}
