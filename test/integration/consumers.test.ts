/** Pods that use a Secret: counted, restarted by way of their workloads, and no concern of the keys. */
import { afterEach, describe, expect, test } from "vitest";
import { findCondition } from "../../src/api/conditions.ts";
import type { Config } from "../../src/app/config.ts";
import { type Clock, HOUR, systemClock } from "../../src/util/time.ts";
import {
  createRollout,
  createWorkload,
  endPod,
  grantConsumers,
  restartedFor,
  rollout,
  runPod,
  withRollouts,
  workload,
} from "./support/consumers.ts";
import { World } from "./support/world.ts";

let world: World;
/** Milliseconds by which the operator's time and the console's are ahead of the API server's. */
let moved = 0;
const clock: Clock = { ...systemClock, now: () => systemClock.now() + moved };
const opened = async (
  mode: Config["consumers"],
  { granted = true, extraCalls = false, argoRollouts = false } = {},
) => {
  moved = 0;
  world = await World.open({ clock, extraCalls, config: { consumers: mode } });
  if (granted) await grantConsumers(world, { argoRollouts });
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
};
afterEach(() => world.close());

const contentOf = async () => (await world.get("ApiKey", "key")).status?.content;
const consumers = async () => (await world.get("ApiKey", "key")).status?.consumers;
let rotations = 0;
/** Another key in the Secret, in a second in which no Pod has been made. */
const rotate = async () => {
  const before = await contentOf();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  rotations += 1;
  await world.annotate("ApiKey", "key", {
    "iam-operator.io/rotate-requested-at": `turn-${rotations}`,
  });
  await world.until("another content", async () => (await contentOf())?.hash !== before?.hash);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
};
const counted = (pods: number, stale: number) =>
  world.until(
    `${stale} of ${pods} Pods to be stale`,
    async () => JSON.stringify(await consumers()) === JSON.stringify({ pods, stale }),
  );
const look = (token: string) =>
  world.annotate("ApiKey", "key", { "iam-operator.io/reconcile-requested-at": token });
const generationOf = async (kind: "Deployment", name: string) =>
  (await workload(world, kind, name))?.metadata.generation;

describe("counting", () => {
  test("follows Pods from one content to the next", async () => {
    await opened("count");
    await runPod(world, "api-1");
    await runPod(world, "web-1", "key", "files");
    await runPod(world, "other-1", "another");
    await world.apiKey("key");
    await counted(2, 0);
    await world.condition("ApiKey", "key", "ConsumersCurrent", "True", "AllCurrent");
    await rotate();
    await counted(2, 2);
    await world.condition("ApiKey", "key", "ConsumersCurrent", "False", "ConsumersStale");
    expect(await world.message("ApiKey", "key", "ConsumersCurrent")).toContain("api-1, web-1.");
    expect(await world.operator?.metrics()).toContain(
      `iam_operator_stale_consumers{namespace="${world.namespace}",name="key"} 2`,
    );
    await endPod(world, "api-1");
    await endPod(world, "web-1");
    await runPod(world, "api-2");
    await look("again");
    await counted(1, 0);
    await world.ready("ApiKey", "key");
  });

  test("says that it may not, while keys come and go as ever; and starts when it may", async () => {
    await opened("count", { granted: false });
    await runPod(world, "api-1");
    await world.apiKey("key");
    await world.ready("ApiKey", "key");
    await rotate();
    await world.ready("ApiKey", "key");
    expect(await world.holdsLivePair("key")).toBe(true);
    expect(world.iam.requests.count("issueKey")).toBe(2);
    const { status } = await world.get("ApiKey", "key");
    expect(status?.consumers).toBeUndefined();
    await world.until("the reason", async () => {
      const { conditions } = (await world.get("ApiKey", "key")).status ?? {};
      const found = findCondition(conditions, "ConsumersCurrent");
      return found?.status === "Unknown" && found.reason === "Forbidden";
    });
    await grantConsumers(world);
    await look("now");
    await counted(1, 1);
  });
});

describe("a rollout", () => {
  test("restarts a workload once for another content, and none for the first", async () => {
    await opened("restart");
    await createWorkload(world, "Deployment", "api");
    await createWorkload(world, "Deployment", "web", { reading: "files" });
    await runPod(world, "api-1");
    await runPod(world, "web-1", "key", "files");
    await world.apiKey("key", {
      rollout: { workloadRefs: [{ name: "api" }, { name: "web" }], minInterval: "0s" },
    });
    await counted(2, 0);
    await world.condition("ApiKey", "key", "RolledOut", "True", "NothingToRestart");
    expect(await generationOf("Deployment", "api")).toBe(1);
    await rotate();
    const hash = (await contentOf())?.hash;
    await world.until(
      "the restart",
      async () => (await restartedFor(world, "Deployment", "api")) === hash,
    );
    expect(await generationOf("Deployment", "api")).toBe(2);
    await world.condition("ApiKey", "key", "RolledOut", "False", "RestartUnderWay");
    // Another process finds what this one has done.
    await world.operator?.kill();
    await world.start();
    await world.lookAgain("ApiKey", "key", "one");
    await runPod(world, "api-2");
    await endPod(world, "api-1");
    await endPod(world, "web-1");
    await look("two");
    await counted(1, 0);
    await world.condition("ApiKey", "key", "RolledOut", "True");
    // Nor does a status that was lost restart anybody.
    await world.clearStatus("ApiKey", "key");
    await look("three");
    await world.condition("ApiKey", "key", "RolledOut", "True");
    await counted(1, 0);
    expect(await generationOf("Deployment", "api")).toBe(2);
    expect(await generationOf("Deployment", "web")).toBe(1);
    const told = (await world.events("key")).filter(({ reason }) => reason === "WorkloadRestarted");
    expect(told.length).toBeLessThanOrEqual(1);
  });

  test("finds workloads of every kind by their labels", async () => {
    await opened("restart");
    const labels = { "example.com/key": "key" };
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const)
      await createWorkload(world, kind, kind.toLowerCase(), { labels });
    await createWorkload(world, "Deployment", "unlabelled");
    for (const app of ["deployment", "statefulset", "daemonset", "unlabelled"])
      await runPod(world, `${app}-1`);
    await world.apiKey("key", { rollout: { selector: { matchLabels: labels } } });
    await counted(4, 0);
    await rotate();
    const hash = (await contentOf())?.hash;
    for (const kind of ["Deployment", "StatefulSet", "DaemonSet"] as const)
      await world.until(
        `the ${kind}`,
        async () => (await restartedFor(world, kind, kind.toLowerCase())) === hash,
      );
    expect(await restartedFor(world, "Deployment", "unlabelled")).toBeUndefined();
    const notes = (await world.events("key")).map(({ reason }) => reason);
    expect(notes.filter((reason) => reason === "WorkloadRestarted").length).toBeGreaterThan(0);
  });

  test("names what is missing, and carries on with the rest", async () => {
    await opened("restart");
    await createWorkload(world, "Deployment", "api");
    await runPod(world, "api-1");
    await world.apiKey("key", {
      rollout: { workloadRefs: [{ kind: "DaemonSet", name: "agent" }, { name: "api" }] },
    });
    await world.condition("ApiKey", "key", "RolledOut", "False", "WorkloadNotFound");
    expect(await world.message("ApiKey", "key", "RolledOut")).toContain("DaemonSet agent");
    await rotate();
    await world.until("the restart", async () => (await generationOf("Deployment", "api")) === 2);
    await world.ready("ApiKey", "key");
    const reasons = (await world.events("key")).map(({ reason }) => reason);
    expect(reasons).toContain("WorkloadNotFound");
  });

  test("is not made while the ApiKey is suspended", async () => {
    await opened("restart");
    await createWorkload(world, "Deployment", "api");
    await runPod(world, "api-1");
    await world.apiKey("key");
    await counted(1, 0);
    await rotate();
    await counted(1, 1);
    await world.apiKey("key", { suspend: true, rollout: { selector: {} } });
    await world.lookAgain("ApiKey", "key", "one");
    expect(await generationOf("Deployment", "api")).toBe(1);
    await world.apiKey("key", { rollout: { selector: {} } });
    await world.until("the restart", async () => (await generationOf("Deployment", "api")) === 2);
  });
});

describe("a Rollout", () => {
  const workloadRefs = [{ kind: "Rollout", name: "web" }, { name: "api" }];
  const specOf = async (name: string) => (await rollout(world, name))?.spec;

  test("is restarted by its time alone, once for another content", async () => {
    await opened("restart", { argoRollouts: true });
    await withRollouts(world, async () => {
      await createRollout(world, "web");
      await createWorkload(world, "Deployment", "api");
      await createRollout(world, "canary", "api");
      const before = [await specOf("web"), await specOf("canary")];
      await runPod(world, "web-1");
      await runPod(world, "api-1");
      const refs = ["web", "canary"].map((name) => ({ kind: "Rollout", name }));
      await world.apiKey("key", { rollout: { workloadRefs: refs, minInterval: "0s" } });
      await counted(2, 0);
      await world.condition("ApiKey", "key", "RolledOut", "True", "NothingToRestart");
      expect([await specOf("web"), await specOf("canary")]).toEqual(before);
      await rotate();
      await world.until("both restarts", async () =>
        [await specOf("web"), await specOf("canary")].every(
          (spec) => spec?.restartAt !== undefined,
        ),
      );
      const { replacementTime = "" } = (await contentOf()) ?? {};
      const after = [await specOf("web"), await specOf("canary")];
      for (const [index, spec] of after.entries()) {
        const { restartAt = "", ...rest } = spec ?? {};
        expect(rest).toEqual(before[index]);
        expect(Date.parse(restartAt ?? "")).toBeGreaterThan(Date.parse(replacementTime));
      }
      await world.condition("ApiKey", "key", "RolledOut", "False", "RestartUnderWay");
      // Another process finds what this one has done.
      await world.operator?.kill();
      await world.start();
      await world.lookAgain("ApiKey", "key", "one");
      await runPod(world, "web-2");
      for (const name of ["web-1", "api-1"]) await endPod(world, name);
      await look("two");
      await counted(1, 0);
      await world.condition("ApiKey", "key", "RolledOut", "True");
      expect([await specOf("web"), await specOf("canary")]).toEqual(after);
      expect(await generationOf("Deployment", "api")).toBe(1);
    });
  });

  test("that may not be read keeps no other workload from its restart", async () => {
    await opened("restart");
    await createWorkload(world, "Deployment", "api");
    await runPod(world, "api-1");
    await world.apiKey("key", { rollout: { workloadRefs } });
    await world.condition("ApiKey", "key", "RolledOut", "False", "RestartFailed");
    const message = await world.message("ApiKey", "key", "RolledOut");
    expect(message).toMatch(/Rollout web: .*Forbidden.*rollouts.argoproj.io/);
    await rotate();
    await world.until("the restart", async () => (await generationOf("Deployment", "api")) === 2);
    await world.ready("ApiKey", "key");
  });

  test("is missing where Argo Rollouts is not installed", async () => {
    await opened("restart", { argoRollouts: true });
    await createWorkload(world, "Deployment", "api");
    await runPod(world, "api-1");
    await world.apiKey("key", { rollout: { workloadRefs } });
    await world.condition("ApiKey", "key", "RolledOut", "False", "WorkloadNotFound");
    expect(await world.message("ApiKey", "key", "RolledOut")).toContain("Rollout web not found in");
    await rotate();
    await world.until("the restart", async () => (await generationOf("Deployment", "api")) === 2);
  });

  test("with the template of no Deployment says so", async () => {
    await opened("restart", { argoRollouts: true });
    await withRollouts(world, async () => {
      await createRollout(world, "web", "nowhere");
      await world.apiKey("key", { rollout: { workloadRefs: [{ kind: "Rollout", name: "web" }] } });
      await world.condition("ApiKey", "key", "RolledOut", "False", "RestartFailed");
      expect(await world.message("ApiKey", "key", "RolledOut")).toContain(
        "Rollout web: its workloadRef names Deployment nowhere",
      );
    });
  });
});

describe("the overlap", () => {
  const opening = async (rotation: object) => {
    await opened("count", { extraCalls: true });
    await runPod(world, "api-1");
    await world.apiKey("key", { rotation: { overlap: "1h", ...rotation } });
    await counted(1, 0);
    const old = (await world.get("ApiKey", "key")).status?.current?.keyId ?? "";
    await rotate();
    await counted(1, 1);
    return old;
  };
  const advance = async (ms: number) => {
    moved += ms;
    world.iam.world.clock.advance(ms);
    await world.lookAgain("ApiKey", "key", `${moved}`);
  };
  const isAlive = (keyId: string) => world.iam.world.whyKeyIsRefused(keyId) === undefined;
  const ended = (keyId: string) => world.until("the old key's end", () => !isAlive(keyId));

  test("waits for the last Pod that may use the old key", async () => {
    const old = await opening({ maxOverlapExtension: "72h" });
    await advance(70 * HOUR);
    expect(isAlive(old)).toBe(true);
    expect((await consumers())?.stale).toBe(1);
    await endPod(world, "api-1");
    await look("now");
    await ended(old);
  });
});
