/** Pods that use a Secret on a real API server: counted and restarted with no more permissions than the chart grants. */
import { afterEach, expect, test } from "vitest";
import { findCondition } from "../../src/api/conditions.ts";
import {
  createRollout,
  createWorkload,
  endPod,
  grantConsumers,
  restartedFor,
  rollout,
  runPod,
  type WorkloadKind,
  withRollouts,
  workload,
} from "./support/consumers.ts";
import { World } from "./support/world.ts";

const KINDS: Readonly<Record<string, WorkloadKind>> = {
  api: "Deployment",
  db: "StatefulSet",
  agent: "DaemonSet",
};

let world: World;
afterEach(() => world.close());

async function opened(): Promise<void> {
  world = await World.open({ config: { consumers: "restart" } });
  await world.serviceAccount("ci");
  await world.ready("ServiceAccount", "ci");
}

const contentOf = async () => (await world.get("ApiKey", "key")).status?.content;

/** Another key in the Secret, in a second in which no Pod has been made. */
async function rotate(): Promise<string> {
  const before = await contentOf();
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await world.annotate("ApiKey", "key", { "iam-operator.io/rotate-requested-at": "now" });
  await world.until("another content", async () => (await contentOf())?.hash !== before?.hash);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  return (await contentOf())?.hash ?? "";
}

const counted = (pods: number, stale: number) =>
  world.until(`${stale} of ${pods} Pods to be stale`, async () => {
    const { consumers } = (await world.get("ApiKey", "key")).status ?? {};
    return JSON.stringify(consumers) === JSON.stringify({ pods, stale });
  });

const look = (token: string) =>
  world.annotate("ApiKey", "key", { "iam-operator.io/reconcile-requested-at": token });

/** Another process finds what this one has done. */
async function replaceOperator(): Promise<void> {
  await world.operator?.kill();
  await world.start();
  await world.lookAgain("ApiKey", "key", "another process");
}

test("workloads of every kind are restarted once, as soon as the operator may read Pods", async () => {
  await opened();
  const labels = { "example.com/key": "key" };
  for (const [name, kind] of Object.entries(KINDS)) {
    await createWorkload(world, kind, name, labels);
    await runPod(world, `${name}-1`);
  }
  await world.apiKey("key", { rollout: { selector: { matchLabels: labels } } });
  await world.ready("ApiKey", "key");
  await world.until("the reason", async () => {
    const { conditions } = (await world.get("ApiKey", "key")).status ?? {};
    const found = findCondition(conditions, "ConsumersCurrent");
    return found?.status === "Unknown" && found.reason === "Forbidden";
  });
  await grantConsumers(world);
  await look("granted");
  await counted(3, 0);
  await world.condition("ApiKey", "key", "RolledOut", "True", "NothingToRestart");
  const hash = await rotate();
  for (const [name, kind] of Object.entries(KINDS))
    await world.until(name, async () => (await restartedFor(world, kind, name)) === hash);
  await world.condition("ApiKey", "key", "RolledOut", "False", "RestartUnderWay");
  await replaceOperator();
  for (const name of Object.keys(KINDS)) await endPod(world, `${name}-1`);
  await runPod(world, "api-2");
  await look("replaced");
  await counted(1, 0);
  await world.condition("ApiKey", "key", "RolledOut", "True");
  for (const [name, kind] of Object.entries(KINDS))
    expect((await workload(world, kind, name))?.metadata.generation).toBe(2);
});

test("a Rollout is restarted by its time alone, once", async () => {
  await opened();
  await grantConsumers(world, { argoRollouts: true });
  await withRollouts(world, async () => {
    await createRollout(world, "web");
    const specOf = async () => (await rollout(world, "web"))?.spec;
    const before = await specOf();
    await runPod(world, "web-1");
    await world.apiKey("key", { rollout: { workloadRefs: [{ kind: "Rollout", name: "web" }] } });
    await counted(1, 0);
    await rotate();
    await world.until("the restart", async () => (await specOf())?.restartAt !== undefined);
    const after = await specOf();
    const { restartAt, ...rest } = after ?? {};
    expect(rest).toEqual(before);
    const { replacementTime = "" } = (await contentOf()) ?? {};
    expect(Date.parse(restartAt ?? "")).toBeGreaterThan(Date.parse(replacementTime));
    await replaceOperator();
    expect(await specOf()).toEqual(after);
  });
});
