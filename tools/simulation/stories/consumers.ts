/** Pods that use the Secret, and the workloads that are restarted for it. */
import { annotations, contentAnnotation } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { podType, rolloutType, workloadTypes } from "../../../src/kube/resource-types.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND, toIso8601 } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { NAMESPACE } from "../places.ts";
import { inNamespace } from "../scenarios.ts";
import { type Story, type StoryWorld, storyWith } from "./story.ts";

const counting = storyWith({ flags: ["--leader-elect=false", "--consumers=count"] });
const restarting = storyWith({
  flags: ["--leader-elect=false", "--consumers=restart"],
  endsReady: false,
});
const { Deployment, StatefulSet, DaemonSet } = workloadTypes as Record<string, ResourceType>;
const DEPLOYMENT = Deployment as ResourceType;
const ROLLOUT = rolloutType as ResourceType;
const rollout = { rollout: { workloadRefs: [{ kind: "Deployment", name: "api" }] } };

const variable: Tree = {
  name: "main",
  env: [{ name: "KEY", valueFrom: { secretKeyRef: { name: "ci", key: "keyId" } } }],
};
const file = (mount: Tree = {}): Tree => ({
  name: "main",
  volumeMounts: [{ name: "key", mountPath: "/key", ...mount }],
});
const volumes = [{ name: "key", secret: { secretName: "ci" } }];

const bothPairs = {
  data: { keyId: "${keyId}", secret: "${secret}", previousKeyId: "${previousKeyId}" },
};

/** A Pod whose containers run since now. */
function createPod(world: StoryWorld, name: string, spec: Tree, metadata: Tree = {}): void {
  const state = { running: { startedAt: toIso8601(world.sim.kernel.now) } };
  world.sim.create(podType as ResourceType, {
    metadata: { ...inNamespace(name), labels: { app: "api" }, ...metadata },
    spec,
    status: { phase: "Running", containerStatuses: [{ name: "main", state }] },
  });
}

/** A workload whose Pods have the label `app` with its name. */
function createWorkload(
  world: StoryWorld,
  type: ResourceType,
  name: string,
  { labels = {}, container = variable }: { labels?: Tree; container?: Tree } = {},
): void {
  world.sim.create(type, {
    metadata: { ...inNamespace(name), labels },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [container] } },
    },
  });
}

function createDeployment(world: StoryWorld, name = "api"): void {
  createWorkload(world, DEPLOYMENT, name);
}

function restartAnnotations(world: StoryWorld, name = "api", type = DEPLOYMENT): Tree {
  const template = treeAt(treeAt(world.sim.get(type, name) ?? {}, "spec"), "template");
  return treeAt(treeAt(template, "metadata"), "annotations");
}

function restartedFor(world: StoryWorld, name = "api", type = DEPLOYMENT): unknown {
  return restartAnnotations(world, name, type)[contentAnnotation("ci")];
}

function said(world: StoryWorld, condition: string): string {
  const { status, reason } = world.condition(apiKeyType, "ci", condition) ?? {};
  return `${status} ${reason}`;
}

function messageOf(world: StoryWorld, condition: string): string {
  return world.condition(apiKeyType, "ci", condition)?.message ?? "";
}

/** How often the Deployment was restarted. */
function restarts(world: StoryWorld): number {
  return world.calls("patch deployments");
}

function staleOf(world: StoryWorld): number | undefined {
  return world.key().status?.consumers?.stale;
}

function reconcile(world: StoryWorld, token: string): void {
  world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: token });
}

async function beginAndRotate(world: StoryWorld, pod: Tree, key: Tree = {}): Promise<void> {
  await world.begin({ key: { rotation: { overlap: "5m" }, ...key } });
  createPod(world, "api-1", pod);
  await world.pass(2 * MINUTE);
  world.rotate("one");
}

const rolloutAndDeployment = {
  rollout: { workloadRefs: [{ kind: "Rollout", name: "web" }, { name: "api" }] },
};

/** Rollouts of Argo, which another controller carries out. */
const rolloutStories: readonly Story[] = [
  restarting("a Rollout is restarted by its time alone, once for a content", async (world) => {
    createWorkload(world, ROLLOUT, "web");
    createDeployment(world);
    const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "api" };
    world.sim.create(ROLLOUT, { metadata: inNamespace("canary"), spec: { workloadRef } });
    const specs = () => ["web", "canary"].map((name) => world.sim.get(ROLLOUT, name)?.spec);
    const before = specs() as readonly Tree[];
    const workloadRefs = ["web", "canary"].map((name) => ({ kind: "Rollout", name }));
    await world.begin({ key: { rollout: { workloadRefs, minInterval: "0s" } } });
    for (const app of ["web", "api"])
      createPod(world, `${app}-1`, { containers: [variable] }, { labels: { app } });
    await world.pass(2 * MINUTE);
    world.expect("nothing at first", specs(), before);
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const after = specs() as readonly Tree[];
    const { replacementTime = "" } = world.key().status?.content ?? {};
    for (const [index, { restartAt, ...rest }] of after.entries()) {
      world.expect("the rest is as it was", rest, before[index]);
      world.expect("after the change", String(restartAt) > replacementTime);
    }
    world.expect("older Pods are left", said(world, "RolledOut"), "False RestartUnderWay");
    world.happens({ kind: "Kill" });
    await world.pass(MINUTE);
    createPod(world, "web-2", { containers: [variable] }, { labels: { app: "web" } });
    for (const name of ["web-1", "api-1"]) world.sim.delete(podType as ResourceType, name);
    await world.pass(HOUR);
    world.expect("all are current", said(world, "RolledOut"), "True NothingToRestart");
    world.expect("once", specs(), after);
    world.expect("the Deployment is left alone", restarts(world), 0);
  }),
  ...(
    [
      ["that may not be read", 403, "RestartFailed", /Rollout web: .*Forbidden/],
      ["whose kind is not installed", 404, "WorkloadNotFound", /Rollout web not found in/],
    ] as const
  ).map(([what, status, reason, words]) =>
    restarting(`a Rollout ${what} keeps no other workload from its restart`, async (world) => {
      createDeployment(world);
      world.fault("get rollouts", { kind: "Refuse", status }, 1_000);
      await beginAndRotate(world, { containers: [variable] }, rolloutAndDeployment);
      await world.pass(2 * MINUTE);
      world.expect("the reason", said(world, "RolledOut"), `False ${reason}`);
      world.expect("the words", words.test(messageOf(world, "RolledOut")));
      world.expect("the Deployment was restarted", restarts(world), 1);
      world.expect("the key is in order", said(world, "Ready"), "True KeyDelivered");
    }),
  ),
  restarting("a Rollout with the template of no Deployment says so", async (world) => {
    const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "nowhere" };
    world.sim.create(ROLLOUT, { metadata: inNamespace("web"), spec: { workloadRef } });
    await beginAndRotate(world, { containers: [variable] }, rolloutAndDeployment);
    await world.pass(2 * MINUTE);
    world.expect("the reason", said(world, "RolledOut"), "False RestartFailed");
    const words = "Rollout web: its workloadRef names Deployment nowhere";
    world.expect("the words", messageOf(world, "RolledOut").includes(words));
  }),
];

export const consumerStories: readonly Story[] = [
  counting("a first key makes no Pod stale", async (world) => {
    createPod(world, "waiting", { containers: [variable] });
    await world.pass(MINUTE);
    await world.begin();
    createPod(world, "api-1", { containers: [variable] });
    await world.pass(HOUR);
    world.expect("no Pod is stale", world.key().status?.consumers, { pods: 2, stale: 0 });
  }),
  counting("the operator's first version that counts makes no Pod stale", async (world) => {
    await world.begin();
    createPod(world, "api-1", { containers: [variable] });
    await world.pass(MINUTE);
    world.sim.meddle(() =>
      world.sim.patch(apiKeyType, "ci", { status: { content: null, consumers: null } }, "status"),
    );
    world.happens({ kind: "Kill" });
    await world.pass(HOUR);
    world.expect("no Pod is stale", world.key().status?.consumers, { pods: 1, stale: 0 });
  }),
  counting("a Pod with variables is stale until it is replaced", async (world) => {
    await world.begin({ key: { rotation: { overlap: "5m" } } });
    createPod(world, "api-1", { containers: [variable] });
    createPod(world, "other-1", { containers: [{ name: "main" }] });
    await world.pass(2 * MINUTE);
    world.expect("all are current", said(world, "ConsumersCurrent"), "True AllCurrent");
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("it is behind", world.key().status?.consumers, { pods: 1, stale: 1 });
    world.expect("which is reported", said(world, "ConsumersCurrent"), "False ConsumersStale");
    world.expect("by name", messageOf(world, "ConsumersCurrent").includes("api-1."));
    const metrics = await world.sim.scrape();
    const line = `iam_operator_stale_consumers{namespace="${NAMESPACE}",name="ci"} 1`;
    world.expect("and by metrics", metrics.includes(line));
    const { replacementTime } = world.key().status?.content ?? {};
    await world.pass(30 * MINUTE);
    world.expect(
      "the content is as old",
      world.key().status?.content?.replacementTime,
      replacementTime,
    );
    world.sim.delete(podType as ResourceType, "api-1");
    createPod(world, "api-2", { containers: [variable] });
    await world.pass(HOUR);
    world.expect("no Pod is stale", staleOf(world), 0);
  }),
  counting(
    "a Pod with files is current after a while, one with a subPath is not",
    async (world) => {
      await beginAndRotate(world, { containers: [file()], volumes });
      createPod(world, "api-2", { containers: [file()], volumes });
      await world.pass(SECOND * 30);
      world.expect("files are not current at once", staleOf(world), 2);
      await world.pass(15 * MINUTE);
      world.expect("later they are", staleOf(world), 0);
      createPod(world, "api-3", { containers: [file({ subPath: "keyId" })], volumes });
      await world.pass(2 * MINUTE);
      world.rotate("two");
      await world.pass(15 * MINUTE);
      world.expect("the subPath is behind", staleOf(world), 1);
    },
  ),
  counting("what an init container read is not forgotten", async (world) => {
    await world.begin();
    const startedAt = toIso8601(world.sim.kernel.now);
    world.sim.create(podType as ResourceType, {
      metadata: inNamespace("api-1"),
      spec: { containers: [{ name: "main" }], initContainers: [{ ...variable, name: "init" }] },
      status: {
        phase: "Running",
        initContainerStatuses: [{ name: "init", state: { terminated: { startedAt } } }],
        containerStatuses: [{ name: "main", state: { running: { startedAt } } }],
      },
    });
    await world.pass(2 * MINUTE);
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("it is behind", staleOf(world), 1);
  }),
  counting("Pods that have ended use nothing", async (world) => {
    await beginAndRotate(world, { containers: [variable] });
    world.sim.patch(podType as ResourceType, "api-1", { status: { phase: "Succeeded" } });
    await world.pass(HOUR);
    world.expect("no Pod", world.key().status?.consumers, { pods: 0, stale: 0 });
  }),
  counting("the overlap waits for Pods that are behind", async (world) => {
    const rotation = { overlap: "5m", maxOverlapExtension: "2h" };
    await beginAndRotate(world, { containers: [variable] }, { rotation, secret: bothPairs });
    await world.pass(40 * MINUTE);
    world.expect("the previous pair is still shown", world.secret().previousKeyId !== "");
    world.sim.delete(podType as ResourceType, "api-1");
    await world.pass(HOUR);
    world.expect("then no longer", world.secret().previousKeyId, "");
  }),
  counting(
    "the overlap waits where nobody can count the Pods",
    async (world) => {
      const rotation = { overlap: "5m", maxOverlapExtension: "1h" };
      world.fault("list pods", { kind: "Refuse", status: 403 }, 1_000);
      await beginAndRotate(world, { containers: [variable] }, { rotation, secret: bothPairs });
      const [first] = world.live;
      await world.pass(20 * MINUTE);
      reconcile(world, "one");
      await world.pass(20 * MINUTE);
      world.expect("the previous pair is still shown", world.secret().previousKeyId, first);
      world.expect("nothing is counted", world.key().status?.consumers, undefined);
      world.expect("which is reported", said(world, "ConsumersCurrent"), "Unknown Forbidden");
      await world.pass(HOUR);
      world.expect("then no longer", world.secret().previousKeyId, "");
      world.expect("the key is in order", said(world, "Ready"), "True KeyDelivered");
      world.cease();
      reconcile(world, "two");
      await world.pass(MINUTE);
      world.expect("the Pod counts when it can be read", staleOf(world), 1);
    },
    { endsReady: false },
  ),
  counting("a Pod that starts before the Secret is written is behind", async (world) => {
    await world.begin();
    await world.pass(2 * MINUTE);
    world.fault("patch secrets", { kind: "Refuse", status: 500 }, 4);
    const data = { keyId: "${keyId}", secret: "${secret}", account: "${saId}" };
    world.change(apiKeyType, "ci", { secret: { data } });
    await world.pass(2 * SECOND);
    world.expect("it is not written yet", world.secret().account, undefined);
    createPod(world, "api-1", { containers: [variable] });
    await world.pass(HOUR);
    world.expect("it is written", world.secret().account !== undefined);
    world.expect("the Pod is behind", staleOf(world), 1);
  }),
  restarting("a workload is restarted once for a content", async (world) => {
    createDeployment(world);
    await beginAndRotate(world, { containers: [variable] }, rollout);
    await world.pass(5 * MINUTE);
    const told = world.events("ci").filter((each) => each.startsWith("WorkloadRestarted"));
    world.expect("one event", told.length, 1);
    await world.pass(HOUR);
    world.expect("restarted once", restarts(world), 1);
    world.expect("for this content", restartedFor(world), world.key().status?.content?.hash);
    world.expect("older Pods are left", said(world, "RolledOut"), "False NotConverging");
    world.happens({ kind: "Kill" });
    await world.pass(5 * MINUTE);
    world.happens({ kind: "WipeStatus", plural: "apikeys" });
    await world.pass(5 * MINUTE);
    world.expect("nor by another process, or for a lost status", restarts(world), 1);
  }),
  restarting(
    "the Pod of a restarted workload is current, whatever the clocks say",
    async (world) => {
      createDeployment(world);
      await beginAndRotate(world, { containers: [variable] }, rollout);
      await world.pass(SECOND / 2);
      for (let waited = 0; waited < 60 && restarts(world) === 0; waited += 1)
        await world.pass(SECOND);
      const restarted = restartAnnotations(world);
      world.sim.delete(podType as ResourceType, "api-1");
      createPod(world, "api-2", { containers: [variable] }, { annotations: restarted });
      await world.pass(HOUR);
      world.expect("no Pod is stale", staleOf(world), 0);
    },
  ),
  restarting("a workload whose Pods need nothing is not restarted", async (world) => {
    createDeployment(world);
    createDeployment(world, "web");
    await world.begin({
      key: { rollout: { workloadRefs: [{ name: "api" }, { name: "web" }] } },
    });
    createPod(world, "api-1", { containers: [variable] });
    await world.pass(2 * MINUTE);
    world.rotate("one");
    await world.pass(HOUR);
    world.expect(
      "only the one with Pods",
      [restartAnnotations(world), restartAnnotations(world, "web")].map(
        (each) => Object.keys(each).length,
      ),
      [2, 0],
    );
  }),
  restarting("a workload is not restarted again before the interval is over", async (world) => {
    createDeployment(world);
    const slowly = { rollout: { ...rollout.rollout, minInterval: "1h" } };
    await beginAndRotate(world, { containers: [variable] }, slowly);
    await world.pass(5 * MINUTE);
    world.rotate("two");
    await world.pass(20 * MINUTE);
    world.expect("restarted once", restarts(world), 1);
    await world.pass(2 * HOUR);
    world.expect("and again later", restarts(world), 2);
  }),
  counting(
    "a Pod made in the second of the switch may be behind",
    async (world) => {
      await world.begin();
      createPod(world, "api-1", { containers: [variable] });
      await world.pass(2 * MINUTE);
      world.rotate("one");
      for (let time = 0; time < 100; time += 1) {
        const before = world.key().status?.content?.replacementTime;
        await world.pass(50);
        createPod(world, `pod-${time}`, { containers: [variable] });
        if (before !== world.key().status?.content?.replacementTime) break;
      }
      const at = world.key().status?.content?.replacementTime ?? "";
      await world.pass(HOUR);
      const created = world.sim
        .list(podType as ResourceType)
        .map(({ metadata }) => String((metadata as Tree).creationTimestamp));
      const older = created.filter((time) => time <= at).length;
      world.expect("Pods up to this second are behind", staleOf(world), older);
    },
    { endsReady: false },
  ),
  restarting("workloads of every kind are found by their labels", async (world) => {
    const labels = { "example.com/key": "ci" };
    const kinds = { deployment: Deployment, statefulset: StatefulSet, daemonset: DaemonSet };
    for (const [name, type] of Object.entries(kinds))
      createWorkload(world, type as ResourceType, name, { labels });
    createDeployment(world, "unlabelled");
    await world.begin({ key: { rollout: { selector: { matchLabels: labels } } } });
    for (const app of [...Object.keys(kinds), "unlabelled"])
      createPod(world, `${app}-1`, { containers: [variable] }, { labels: { app } });
    await world.pass(2 * MINUTE);
    world.expect("nothing to do", said(world, "RolledOut"), "True NothingToRestart");
    world.rotate("one");
    await world.pass(2 * MINUTE);
    const { hash } = world.key().status?.content ?? {};
    for (const [name, type] of Object.entries(kinds))
      world.expect(`the ${name}`, restartedFor(world, name, type as ResourceType), hash);
    world.expect("and no other", restartedFor(world, "unlabelled"), undefined);
  }),
  restarting(
    "a workload that does not exist is named, and the others are restarted",
    async (world) => {
      createDeployment(world);
      const refs = [{ kind: "DaemonSet", name: "agent" }, { name: "api" }];
      await beginAndRotate(world, { containers: [variable] }, { rollout: { workloadRefs: refs } });
      await world.pass(2 * MINUTE);
      world.expect("the other one", restarts(world), 1);
      world.expect("it is reported", said(world, "RolledOut"), "False WorkloadNotFound");
      world.expect("by name", messageOf(world, "RolledOut").includes("DaemonSet agent"));
      const told = world.events("ci").some((each) => each.startsWith("WorkloadNotFound"));
      world.expect("and in an event", told);
    },
  ),
  restarting("a suspended ApiKey restarts nothing", async (world) => {
    createDeployment(world);
    await beginAndRotate(world, { containers: [variable] });
    await world.pass(2 * MINUTE);
    world.change(apiKeyType, "ci", { suspend: true, rollout: { selector: {} } });
    await world.pass(5 * MINUTE);
    world.expect("no restart", restarts(world), 0);
    world.change(apiKeyType, "ci", { suspend: false });
    await world.pass(MINUTE);
    world.expect("then one", restarts(world), 1);
  }),
  ...rolloutStories,
];
