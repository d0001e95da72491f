/** Every single fault, at every call, at every event of a watch, and at every turn of a run without faults. */
import { DAY, HOUR, MINUTE, SECOND } from "../../src/util/time.ts";
import { LISTS } from "../iam-server/operations.ts";
import { INTERCEPTIONS } from "../server-fault.ts";
import type { CallFault, Fault, Plan, WatchFault, WorldEvent } from "./faults.ts";
import type { CallRecord, Journal, WatchRecord } from "./journal.ts";

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
  { kind: "Garble", how: "EmptyObject" },
  { kind: "Huge" },
  { kind: "Slow", ms: 1_500 },
];

/** A gateway answers in the console's place, with success: a page, an error as JSON, JSON of its own, nothing. */
export const interceptions: readonly CallFault[] = INTERCEPTIONS.map((how) => ({
  kind: "Intercept",
  how,
}));

/** Just beyond the time after which an issue without a response is looked into. */
const LATE_MS = 25 * SECOND;

/** What gateways, queues and their retries do to a change. */
export const gatewayFaults: readonly CallFault[] = [
  { kind: "LateCommit", ms: LATE_MS },
  { kind: "LateCommit", ms: 0, status: 502 },
  { kind: "LateCommit", ms: 4 * MINUTE, status: 504 },
  { kind: "DoubleCommit", answer: "First", ms: MINUTE },
  { kind: "DoubleCommit", answer: "Second", ms: SECOND },
];

/** Only the console takes a call that is hours old: Kubernetes' objects have versions. */
const oldCalls: readonly CallFault[] = [
  { kind: "LateCommit", ms: 4 * MINUTE },
  { kind: "LateCommit", ms: 3 * HOUR },
];

/** What replicas do to a list. */
const replicaFaults: readonly CallFault[] = [5 * SECOND, MINUTE].map((ms) => ({
  kind: "Behind",
  ms,
}));

const refused = (...statuses: readonly number[]): readonly CallFault[] =>
  statuses.map((status) =>
    status === 429 ? { kind: "Refuse", status, retryAfter: 2 } : { kind: "Refuse", status },
  );

/** What a server may say to any call at any time. A 404 or a 409 says something about the object: only once. */
const kubeRefusals = refused(403, 404, 409, 422, 429, 500, 503, 504);
const iamRefusals = refused(401, 403, 404, 409, 422, 429, 500, 502, 503);
const lasting = refused(403, 409, 429, 503);

/** To a call that tries a key: whatever else it may say proves that the key was let in. */
const trialRefusals = refused(401, 429, 500, 502, 503);
const TRIALS = new Set(["searchActions", "validateKey"]);

/** Nothing is wrong with a request that only asks, or takes away. */
const REFUSABLE = /^(create|apply|patch|replace) /;

/** Which faults a call can suffer. */
export function faultsOf(call: Pick<CallRecord, "server" | "mutating" | "operation">) {
  const { mutating, server } = call;
  const refusals = refusalsOf(call);
  return [
    ...(mutating ? [...crashFaults, ...gatewayFaults] : []),
    ...(mutating && server === "iam" ? oldCalls : []),
    ...(server === "iam" ? interceptions : []),
    ...(LISTS.has(call.operation) ? replicaFaults : []),
    ...lostFaults,
    ...refusals,
  ];
}

function refusalsOf({ server, operation }: Pick<CallRecord, "server" | "operation">) {
  if (server === "iam") return TRIALS.has(operation) ? trialRefusals : iamRefusals;
  return REFUSABLE.test(operation)
    ? kubeRefusals
    : kubeRefusals.filter((fault) => !("status" in fault) || fault.status !== 422);
}

/** One plan per call and fault. Calls are named by operation and count, so that a plan survives small changes. */
export function callPlans(calls: readonly CallRecord[], since = 0): readonly Plan[] {
  const counts = countsOf(calls);
  return withoutPolling(calls.filter(({ sentAt }) => sentAt >= since)).flatMap((call) => {
    const { server, operation } = call;
    const nth = counts.get(call) ?? 1;
    const select = { server, operation, nth };
    return faultsOf(call).map((fault) =>
      single(`${server} ${operation} #${nth}`, { on: "call", select, fault }),
    );
  });
}

/** Two of the calls that change one account, each befallen by a gateway, or one of them and a list that lags. */
export function pairPlans(calls: readonly CallRecord[], since = 0): readonly Plan[] {
  const counts = countsOf(calls);
  const ofConsole = withoutPolling(
    calls.filter(({ server, sentAt }) => server === "iam" && sentAt >= since),
    PAIRED_READS,
  );
  const strikes = (call: CallRecord) => {
    const { server, operation, mutating } = call;
    const select = { server, operation, nth: counts.get(call) ?? 1 };
    const faults = mutating ? pairedFaults : LISTS.has(operation) ? [BEHIND] : [];
    return faults.map((fault) => ({ on: "call", select, fault }) as const);
  };
  return ofConsole.flatMap((first, index) =>
    ofConsole
      .slice(index + 1)
      .flatMap((second) =>
        first.mutating || second.mutating
          ? strikes(first).flatMap((one) => strikes(second).map((other) => pair(one, other)))
          : [],
      ),
  );
}

const PAIRED_READS = 3;
const BEHIND: CallFault = { kind: "Behind", ms: MINUTE };
const pairedFaults: readonly CallFault[] = [
  { kind: "LateCommit", ms: LATE_MS },
  { kind: "LateCommit", ms: 4 * MINUTE, status: 504 },
  { kind: "DoubleCommit", answer: "Second", ms: SECOND },
  { kind: "Intercept", how: "OtherForm" },
];

type StruckCall = Extract<Fault, { on: "call" }>;

function pair(one: StruckCall, other: StruckCall): Plan {
  const text = ({ select, fault }: StruckCall) =>
    `${select.operation} #${select.nth} ${JSON.stringify(fault)}`;
  return { name: `iam ${text(one)} and ${text(other)}`, faults: [one, other] };
}

/** Every operation, refused several times in a row. */
export function lastingPlans(calls: readonly CallRecord[], since = 0): readonly Plan[] {
  const counts = countsOf(calls);
  const firsts = new Map(
    calls
      .filter(({ sentAt }) => sentAt >= since)
      .toReversed()
      .map((call) => [`${call.server} ${call.operation}`, call]),
  );
  return [...firsts].flatMap(([name, call]) => {
    const { server, operation } = call;
    const select = { server, operation, nth: counts.get(call) ?? 1, times: 4 };
    const behind = LISTS.has(call.operation) ? [{ kind: "Behind", ms: MINUTE } as const] : [];
    return [...behind, ...lastingFaultsOf(call)].map((fault) =>
      single(`${name}, four times`, { on: "call", select, fault }),
    );
  });
}

function lastingFaultsOf(call: CallRecord): readonly CallFault[] {
  const statuses = new Set(refusalsOf(call).map((fault) => "status" in fault && fault.status));
  return lasting.filter((fault) => "status" in fault && statuses.has(fault.status));
}

/** Which of its operation a call is, from 1. */
export function countsOf(calls: readonly CallRecord[]): ReadonlyMap<CallRecord, number> {
  const counts = new Map<string, number>();
  return new Map(
    calls.map((call) => {
      const id = `${call.server} ${call.operation}`;
      counts.set(id, (counts.get(id) ?? 0) + 1);
      return [call, counts.get(id) ?? 1];
    }),
  );
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

const eventFaults = (nth: number): readonly WatchFault[] => [
  { kind: "Frozen", nth },
  { kind: "Dropped", nth },
  { kind: "Doubled", nth },
  { kind: "Torn", nth },
  { kind: "Garbled", nth, text: "<html>\n" },
];

const streamFaults: readonly WatchFault[] = [
  { kind: "Frozen", nth: 0 },
  { kind: "Late", ms: 3_000 },
  { kind: "Expired" },
  { kind: "Refuse", status: 429, retryAfter: 5 },
  ...[1, 3, 10].map((revisions) => ({ kind: "Stale", revisions, ms: 5_000 }) as const),
];

/** Every event of every watch, and every stream as a whole. */
export function watchPlans(watched: readonly WatchRecord[], since = 0): readonly Plan[] {
  const events = watched.filter(({ at, plural }) => at >= since && plural !== "namespaces");
  const streams = new Map(events.map((event) => [`${event.plural} #${event.stream}`, event]));
  const plan = ({ plural, stream }: WatchRecord) => {
    return (fault: WatchFault) =>
      single(`watch ${plural} #${stream}`, { on: "watch", plural, nth: stream, fault });
  };
  return [
    ...events.flatMap((event) => eventFaults(event.nth).map(plan(event))),
    ...[...streams.values()].flatMap((event) => streamFaults.map(plan(event))),
  ];
}

const OURS = ["apikeys", "serviceaccounts", "policybindings", "clusterconnections"];

/** Every clock, in both directions, by hours and days: for half a minute, or for good. */
export const clockSteps: readonly WorldEvent[] = (["operator", "kube", "iam"] as const).flatMap(
  (of): readonly WorldEvent[] => [
    { kind: "JumpClock", of, ms: 2 * HOUR },
    { kind: "JumpClock", of, ms: -2 * HOUR, forMs: MINUTE / 2 },
    { kind: "JumpClock", of, ms: 40 * DAY, forMs: MINUTE / 2 },
    { kind: "JumpClock", of, ms: -40 * DAY },
  ],
);

/** What administrators of the console do to the keys in use and to accounts. */
export const endings: readonly WorldEvent[] = [
  { kind: "EndKeys", how: "Disable" },
  { kind: "EndKeys", how: "Disable", forMs: 2 * MINUTE },
  { kind: "EndKeys", how: "Expire" },
  { kind: "EndKeys", how: "Delete" },
  { kind: "EndAccounts", how: "Disable", forMs: 7 * MINUTE },
  { kind: "EndAccounts", how: "Delete" },
];

const worldEvents: readonly WorldEvent[] = [
  { kind: "DeleteSecret" },
  { kind: "EditSecret", how: "TearPair" },
  { kind: "EditSecret", how: "RemoveEntry" },
  { kind: "EditSecret", how: "MakeImmutable" },
  { kind: "DeleteNamespace" },
  ...OURS.flatMap((plural): readonly WorldEvent[] => [
    { kind: "DeleteObject", plural },
    { kind: "RecreateObject", plural },
    { kind: "WipeStatus", plural },
    { kind: "RemoveFinalizers", plural },
  ]),
  { kind: "RevokeTokens" },
  { kind: "DemandSecondFactor" },
  ...[100, 2_000, 20_000].flatMap((backMs): readonly WorldEvent[] => [
    { kind: "Restore", backMs, bumped: false },
    { kind: "Restore", backMs, bumped: true },
  ]),
  { kind: "JumpClock", ms: 300_000 },
  { kind: "JumpClock", ms: -300_000 },
  ...clockSteps,
  ...endings,
  { kind: "Kill" },
  { kind: "Stop" },
  { kind: "Compact" },
  { kind: "ListsBehind", ms: MINUTE, forMs: 5 * MINUTE },
];

/** Each event just after some of the changes, and when everything is at rest. */
export function worldPlans(calls: readonly CallRecord[], since: number): readonly Plan[] {
  return worldEvents.flatMap((event) =>
    momentsOf(calls, since).map((afterMs) =>
      single(`after ${afterMs} ms`, { on: "world", afterMs, event }),
    ),
  );
}

const MOST_MOMENTS = 6;
const AT_REST_MS = 60_000;

function momentsOf(calls: readonly CallRecord[], since: number): readonly number[] {
  const changes = calls.filter(
    ({ mutating, operation, sentAt }) =>
      mutating && !/ (leases|events)$/.test(operation) && sentAt >= since,
  );
  const all = [...new Set(changes.map(({ sentAt }) => Math.round(sentAt - since) + 1))];
  const step = Math.max(1, all.length / MOST_MOMENTS);
  const some = Array.from({ length: Math.min(all.length, MOST_MOMENTS) }, (_, index) => {
    return all[Math.floor(index * step)] ?? 0;
  });
  return [...some, AT_REST_MS];
}

/** Every single fault of a scenario, by the record of a run without. */
export function allPlans(
  { calls, watched }: Pick<Journal, "calls" | "watched">,
  since: number,
): readonly Plan[] {
  return [
    ...callPlans(calls, since),
    ...pairPlans(calls, since),
    ...lastingPlans(calls, since),
    ...watchPlans(watched, since),
    ...worldPlans(calls, since),
  ];
}

function single(where: string, fault: Fault): Plan {
  const what = fault.on === "world" ? fault.event : fault.fault;
  return { name: `${where}: ${JSON.stringify(what)}`, faults: [fault] };
}
