import { describe, expect, test } from "vitest";
import {
  type Content,
  consumersOf,
  isStale,
  judgeWorkload,
  needsRestart,
} from "../../../src/consumers/rules/decide.ts";
import { digestPod, type PodDigest } from "../../../src/consumers/rules/pod-digest.ts";
import { nextCountMs } from "../../../src/consumers/rules/schedule.ts";
import {
  digestWorkload,
  type WorkloadDigest,
} from "../../../src/consumers/rules/workload-digest.ts";
import { matchesLabels } from "../../../src/kube/match-labels.ts";
import {
  type Container,
  type Pod,
  rolloutType,
  workloadTypes,
} from "../../../src/kube/resource-types.ts";
import { DAY, MINUTE, SECOND, toIso8601 } from "../../../src/util/time.ts";

const SWITCH = Date.UTC(2026, 0, 10);
const content: Content = { apiKey: "ci", secret: "ci", hash: "new", replacementTime: SWITCH };
const running = (at: number) => ({ running: { startedAt: toIso8601(SWITCH + at) } });
const ended = (at: number) => ({ terminated: { startedAt: toIso8601(SWITCH + at) } });
const waiting = { waiting: { reason: "ContainerCreating" } };
const variable = [{ valueFrom: { secretKeyRef: { name: "ci" } } }];
const volumes = [{ name: "key", secret: { secretName: "ci" } }];
const volumeMounts = [{ name: "key" }];

interface PodParts {
  /** From the switch. */
  readonly created?: number;
  readonly container?: object;
  readonly state?: object;
  readonly init?: object;
  readonly initState?: object;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** A Pod from the day before with a variable, running since then; and what differs. */
function pod({
  created = -DAY,
  container = { env: variable },
  state = running(created),
  init,
  initState = {},
  annotations = {},
}: PodParts = {}): PodDigest {
  const raw = {
    metadata: {
      name: "api-1",
      labels: { app: "api" },
      creationTimestamp: toIso8601(SWITCH + created),
      annotations: { "example.com/note": "x".repeat(1_000), ...annotations },
    },
    spec: {
      containers: [{ name: "app", ...container }],
      ...(init === undefined ? {} : { initContainers: [{ name: "first", ...init }] }),
      volumes,
    },
    status: {
      containerStatuses: [{ name: "app", state }],
      initContainerStatuses: [{ name: "first", state: initState }],
    },
  } satisfies Pod;
  const digest = digestPod(raw);
  if (digest === undefined) throw new Error("uses no Secret");
  return digest;
}

const files = { container: { volumeMounts } };
const bySubPath = { container: { volumeMounts: [{ name: "key", subPath: "secret" }] } };
const ofInit = { container: {}, init: { volumeMounts } };
const restartedFor = (hash: string, apiKey = "ci") => ({
  annotations: { [`content.iam-operator.io/${apiKey}`]: hash },
});

describe("a Pod is on an older content", () => {
  test.each<[string, PodParts, number, string]>([
    ["with variables from before the switch", {}, 0, "restart"],
    ["with variables from long before, much later", {}, 30 * DAY, "restart"],
    ["made after the switch", { created: SECOND }, 2 * SECOND, "no"],
    ["made in the second of the switch, which leaves a doubt", { created: 0 }, SECOND, "restart"],
    ["made before, and restarted for this content", restartedFor("new"), SECOND, "no"],
    ["restarted for an older content", restartedFor("old"), SECOND, "restart"],
    ["restarted for another ApiKey", restartedFor("new", "other"), SECOND, "restart"],
    ["whose container started again later", { state: running(3 * MINUTE) }, 4 * MINUTE, "no"],
    ["whose container started in doubt", { state: running(MINUTE) }, 4 * MINUTE, "restart"],
    ["whose container has not started yet", { state: waiting }, MINUTE, "stale"],
    ["whose container still waits after the doubt", { state: waiting }, 3 * MINUTE, "no"],
    ["whose container is over", { state: ended(-DAY) }, MINUTE, "no"],
    ["with files, at once", files, SECOND, "stale"],
    ["with files, when the kubelet has had its time", files, 2 * MINUTE + SECOND, "no"],
    ["with a file by subPath", bySubPath, DAY, "restart"],
    ["whose init container read before", { ...ofInit, initState: ended(-DAY) }, DAY, "restart"],
    ["whose init container read since", { ...ofInit, initState: ended(3 * MINUTE) }, DAY, "no"],
  ])("%s", (_, parts, after, expected) => {
    const subject = pod(parts);
    const now = SWITCH + after;
    const found = needsRestart(subject, content, now) ? "restart" : "stale";
    expect(isStale(subject, content, now) ? found : "no").toBe(expected);
    if (expected === "no") expect(needsRestart(subject, content, now)).toBe(false);
  });

  test("never, where the content has replaced nothing", () => {
    const first = { ...content, replacementTime: undefined };
    expect(isStale(pod(), first, SWITCH)).toBe(false);
    expect(isStale(pod({ state: waiting }), first, SWITCH)).toBe(false);
  });

  test("not for another Secret", () => {
    const other = { ...content, secret: "other" };
    expect(consumersOf([pod()], other)).toEqual([]);
    expect(consumersOf([pod()], content)).toHaveLength(1);
    expect(isStale(pod(), other, SWITCH)).toBe(false);
  });

  test("no longer, once it was not: time alone makes no Pod stale", () => {
    const pods = [-DAY, -MINUTE, 0, SECOND].flatMap((created) =>
      [-DAY, 0, MINUTE, 2 * MINUTE, 3 * MINUTE].flatMap((started) => [
        pod({ created, state: running(Math.max(created, started)) }),
        pod({ created, state: running(Math.max(created, started)), ...files }),
      ]),
    );
    for (const each of pods) {
      const states = Array.from({ length: 60 }, (_, step) =>
        isStale(each, content, SWITCH + step * 10 * SECOND),
      );
      expect(states.lastIndexOf(true)).toBeLessThan(
        states.includes(false) ? states.indexOf(false) : states.length,
      );
    }
  });
});

test("a Pod without Secrets is not kept", () => {
  const metadata = { name: "web" };
  expect(digestPod({ metadata, spec: { containers: [{ name: "app" }], volumes } })).toBeUndefined();
  expect(digestPod({ metadata })).toBeUndefined();
});

test("a workload is known by the Secrets that its Pods read only at their start", () => {
  const readsAtStart = (...containers: Container[]) => {
    const template = { spec: { containers, volumes } };
    const stored = { metadata: { name: "api" }, spec: { template } };
    return digestWorkload(workloadTypes.Deployment, stored).readsAtStart;
  };
  expect(readsAtStart({ name: "app", env: variable })).toEqual(["ci"]);
  expect(readsAtStart({ name: "app", volumeMounts })).toEqual([]);
});

test("a workload without a spec reads nothing and has no Pods", () => {
  const digest = digestWorkload(workloadTypes.Deployment, { metadata: { name: "api" } });
  expect(digest.readsAtStart).toEqual([]);
  expect(matchesLabels(digest.selector, { app: "api" })).toBe(false);
});

test("little is kept of a Pod", () => {
  expect(JSON.stringify(pod()).length).toBeLessThan(300);
});

describe("a workload", () => {
  const workload = (changes: Partial<WorkloadDigest> = {}): WorkloadDigest => ({
    type: workloadTypes.Deployment,
    key: { namespace: "team-a", name: "api" },
    uid: "u",
    resourceVersion: "1",
    selector: { matchLabels: { app: "api" } },
    annotations: {},
    restartedAt: undefined,
    readsAtStart: ["ci"],
    ...changes,
  });
  const now = SWITCH + MINUTE;

  const long = { ...restartedFor("new"), restartedAt: now - 16 * MINUTE };
  const web = { selector: { matchLabels: { app: "web" } } };
  const restarted = (ms: number) => ({ restartedAt: now - ms });
  const older = [pod()];
  const younger = [pod({ created: SECOND })];

  test.each<[string, Partial<WorkloadDigest>, readonly PodDigest[], string]>([
    ["with an older Pod is restarted", {}, older, "Restart"],
    ["marked for an older content too", restartedFor("old"), older, "Restart"],
    ["marked for this content is not restarted again", restartedFor("new"), older, "UnderWay"],
    ["marked for this content a quarter of an hour ago is stuck", long, older, "Stuck"],
    ["without Pods has nothing to catch up with", {}, [], "Nothing"],
    ["with younger Pods only", {}, younger, "Nothing"],
    ["with younger Pods, marked for an older content", restartedFor("old"), younger, "Nothing"],
    ["whose Pods only have files", {}, [pod(files)], "Nothing"],
    ["that does not read the Secret at its start", { readsAtStart: ["other"] }, older, "Nothing"],
    ["of other Pods", web, older, "Nothing"],
    ["whose Pod has not started yet", {}, [pod({ state: waiting })], "Nothing"],
    ["restarted a minute ago", restarted(MINUTE), older, "Wait"],
    ["restarted five minutes ago", restarted(5 * MINUTE), older, "Restart"],
    ["restarted a little later, by its clock", restarted(-MINUTE), older, "Wait"],
    ["restarted in the future, by a clock that was wrong", restarted(-DAY), older, "Wait"],
  ])("%s", (_, changes, pods, expected) => {
    const situation = { content, pods, minIntervalMs: 5 * MINUTE, now };
    const judgement = judgeWorkload(workload(changes), situation);
    expect(judgement.kind).toBe(expected);
    if (judgement.kind !== "Wait") return;
    expect(judgement.until).toBeGreaterThan(now);
    expect(judgement.until).toBeLessThanOrEqual(now + 5 * MINUTE);
  });

  test("restarted in the future waits no longer than the interval after the change", () => {
    const inputs = { content, pods: older, minIntervalMs: 5 * MINUTE, now: SWITCH + 5 * MINUTE };
    expect(judgeWorkload(workload(restarted(-DAY)), inputs).kind).toBe("Restart");
  });

  test.each<[string, number | undefined, readonly PodDigest[], string]>([
    ["never restarted is restarted", undefined, [pod()], "Restart"],
    ["restarted long before the change is restarted", SWITCH - DAY, [pod()], "Restart"],
    ["restarted just before the change has to wait", SWITCH - MINUTE, [pod()], "Wait"],
    ["restarted in the second of the change has to wait", SWITCH, [pod()], "Wait"],
    ["restarted since the change, by whomever, is not again", SWITCH + SECOND, [pod()], "UnderWay"],
    ["to be restarted later, by whomever, is not now", now + DAY, [pod()], "UnderWay"],
    ["without older Pods is not restarted", undefined, [pod({ created: SECOND })], "Nothing"],
  ])("a Rollout %s", (_, restartedAt, pods, expected) => {
    const rollout = workload({ type: rolloutType, restartedAt, ...restartedFor("new") });
    const situation = { content, pods, minIntervalMs: 5 * MINUTE, now };
    expect(judgeWorkload(rollout, situation).kind).toBe(expected);
  });

  test("a Rollout that was restarted a quarter of an hour ago is stuck", () => {
    const rollout = workload({ type: rolloutType, restartedAt: SWITCH + SECOND });
    const later = { content, pods: [pod()], minIntervalMs: 0, now: SWITCH + 16 * MINUTE };
    expect(judgeWorkload(rollout, later).kind).toBe("Stuck");
  });
});

test.each([
  ["nothing is stale: half an hour", { stale: 0, age: MINUTE }, 30 * MINUTE],
  ["just switched: ten seconds", { stale: 1, age: 0 }, 10 * SECOND],
  ["for ten minutes: a minute", { stale: 1, age: 10 * MINUTE }, MINUTE],
  ["for days: ten minutes", { stale: 1, age: 3 * DAY }, 10 * MINUTE],
  ["a restart is due later", { stale: 1, age: 0, until: DAY }, 10 * SECOND],
  ["a restart is due sooner", { stale: 1, age: DAY, until: 20 * SECOND }, 20 * SECOND],
  ["a restart is overdue: not at once", { stale: 1, age: DAY, until: -MINUTE }, SECOND],
])(
  "the next count, %s",
  (_, { stale, age, until }: { stale: number; age: number; until?: number }, expected) => {
    const progress = {
      stale,
      replacementTime: SWITCH - age,
      until: until === undefined ? undefined : SWITCH + until,
    };
    expect(nextCountMs(progress, SWITCH)).toBe(expected);
  },
);
