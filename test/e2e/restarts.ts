/** Workloads that read the key as variables, restarted by the operator when there is another key. */
import { type Stage, TEAM } from "./stage.ts";
import { until } from "./wait.ts";
import { type Call, isFailed, parseCalls, RESTARTED, restartedManifests } from "./workloads.ts";

const PODS = 4;
const [[label, value] = []] = Object.entries(RESTARTED);

export async function startRestarted(stage: Stage): Promise<void> {
  const { kubectl, image, console: iam } = stage;
  const setting = { namespace: TEAM, image: image.bases.runtime, consoleUrl: iam.url };
  await kubectl(["apply", "-f", "-"], restartedManifests(setting));
  await until("calls of every Pod", 90_000, async () => {
    const pods = await podsOf(stage);
    const calls = await Promise.all(pods.map(({ name }) => callsOf(stage, name, "--tail=5")));
    return pods.length === PODS && calls.every((some) => some.length > 0) ? true : undefined;
  });
  const workloadRefs = [
    { name: "api" },
    { kind: "StatefulSet", name: "db" },
    { kind: "DaemonSet", name: "agent" },
  ];
  await setRollout(stage, { workloadRefs, minInterval: "0s" });
}

/** Rotates; resolves when every Pod has been replaced by one that calls with the new key. */
export async function rotateAndRestart(
  stage: Stage,
  rotate: (stage: Stage) => Promise<string>,
): Promise<string> {
  const before = await podsOf(stage);
  // Each log ends with its Pod.
  const logs = before.map(({ name }) => stage.node.podLogs(TEAM, name, "--follow"));
  const startedAt = performance.now();
  await rotate(stage);
  const keyId = await statusOf(stage, "current.keyId");
  await until("other Pods, with the new key", 150_000, async () => {
    const pods = await podsOf(stage);
    const calls = await Promise.all(pods.map(({ name }) => callsOf(stage, name, "--tail=1")));
    const areNew = pods.every(({ uid }) => before.every((old) => old.uid !== uid));
    return areNew && pods.length === PODS && calls.every(([call]) => call?.keyId === keyId)
      ? true
      : undefined;
  });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  const calls = (await Promise.all(logs)).flatMap(parseCalls);
  const failed = calls.filter(isFailed);
  if (calls.length === 0 || failed.length > 0)
    throw new Error(
      `${failed.length} of ${calls.length} calls failed: ${JSON.stringify(failed[0])}`,
    );
  // The two Pods of the tour use the key as well; the one with variables belongs to no workload.
  const count = await until("a count without them", 60_000, async () => {
    const pods = await statusOf(stage, "consumers.pods");
    const stale = await statusOf(stage, "consumers.stale");
    return pods === String(PODS + 2) && Number(stale) >= 1 && Number(stale) <= 2
      ? `${stale} of ${pods} Pods stale`
      : undefined;
  });
  // From here on found by their labels.
  await setRollout(stage, {
    workloadRefs: null,
    selector: { matchLabels: RESTARTED },
  });
  return `${calls.length} calls of the Pods before, all replaced after ${seconds} s; ${count}`;
}

/** Calls of the Pods that are there now; one that is just being started has made none. */
export async function restartedCalls(stage: Stage): Promise<readonly Call[]> {
  const pods = await podsOf(stage);
  return (
    await Promise.all(pods.map(({ name }) => callsOf(stage, name).catch((): readonly Call[] => [])))
  ).flat();
}

async function setRollout({ kubectl }: Stage, rollout: object): Promise<void> {
  const patch = `-p=${JSON.stringify({ spec: { rollout } })}`;
  await kubectl(["patch", "iamkey", "ci-bot-key", `-n=${TEAM}`, "--type=merge", patch]);
}

/** A Pod of a StatefulSet is followed by one of the same name. */
async function podsOf({ kubectl }: Stage): Promise<readonly { name: string; uid: string }[]> {
  const { items } = JSON.parse(
    await kubectl(["get", "pods", `-n=${TEAM}`, `-l=${label}=${value}`, "-o=json"]),
  ) as { items: { metadata: { name: string; uid: string } }[] };
  return items.map(({ metadata }) => metadata);
}

async function callsOf({ node }: Stage, pod: string, ...flags: readonly string[]) {
  return parseCalls(await node.podLogs(TEAM, pod, ...flags));
}

async function statusOf({ kubectl }: Stage, path: string): Promise<string> {
  return kubectl(["get", "iamkey", "ci-bot-key", `-n=${TEAM}`, `-o=jsonpath={.status.${path}}`]);
}
