/** Quotas: which are listed, when, with whose rights, and what is shown of them. */
import { annotations } from "../../../src/api/meta.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { Tree } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../iam-server/seed.ts";
import type { Quota } from "../../iam-server/world.ts";
import { createBinding, createKey, DEPLOY, inNamespace, READ } from "../scenarios.ts";
import { connectionSpec } from "../sim-world.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const { clusterId } = SEEDED;
const refused = (status: number) => ({ kind: "Refuse", status }) as const;
/** Without a right to the quotas of all tenants. */
const ungranted = {
  grants: [{ name: "all", namespaces: { names: ["team-a"] }, policyIds: ["*"] }],
};
const withKey = { apiKeyRef: { name: "ci" } };

function createExport(world: StoryWorld, spec: Tree = {}, name = "quotas"): void {
  const wanted = { clusterId, ...spec };
  world.sim.create(resourceQuotaExportType, { metadata: inNamespace(name), spec: wanted });
}

function change(world: StoryWorld, spec: Tree): void {
  world.change(resourceQuotaExportType, "quotas", spec);
}

function statusOf(world: StoryWorld, name = "quotas") {
  const { status = {} } = world.sim.get(resourceQuotaExportType, name) ?? {};
  return status as { total?: number; truncated?: boolean; quotas?: readonly { name: string }[] };
}

function ready(world: StoryWorld) {
  return world.condition(resourceQuotaExportType, "quotas");
}

function listings(world: StoryWorld): number {
  return world.calls("listResourceQuotas");
}

function clusterOf(world: StoryWorld): { quotas: readonly Quota[] } {
  const cluster = world.sim.console.world.clusters.get(clusterId);
  if (cluster === undefined) throw new Error("the cluster is not seeded");
  return cluster;
}

/** The cluster has so many quotas. */
function putQuotas(world: StoryWorld, count: number): void {
  const cluster = clusterOf(world);
  const [quota] = cluster.quotas;
  if (quota === undefined) throw new Error("no quotas are seeded");
  cluster.quotas = Array.from({ length: count }, (_, index) => ({ ...quota, name: `q-${index}` }));
}

/** Three pages. */
const PAGES = 250;

/** How many quotas are exported. */
async function exportPages(world: StoryWorld): Promise<number | undefined> {
  putQuotas(world, PAGES);
  await world.begin();
  createExport(world);
  await world.pass(2 * MINUTE);
  return statusOf(world).total;
}

async function beginWithExport(world: StoryWorld, spec: Tree = {}): Promise<void> {
  await world.begin();
  createExport(world, spec);
  await world.pass(SECOND);
}

/** The series of an export, without the labels that all of them have. */
async function seriesOf(world: StoryWorld, name = "quotas"): Promise<readonly string[]> {
  const labels = `export_namespace="team-a",export="${name}"`;
  return (await world.sim.scrape())
    .split("\n")
    .filter((line) => line.startsWith("iam_operator_resourcequota") && line.includes(labels))
    .map((line) => line.replace("iam_operator_resourcequota", "").replace(labels, "-"));
}

const shownStories: readonly Story[] = [
  story("quotas are shown in the status and as metrics", async (world) => {
    await beginWithExport(world, { namespaces: ["team-a", "team-c"] });
    const { quotas = [], ...status } = statusOf(world);
    world.expect("all are counted", status.total, 6);
    world.expect("none is left out", [status.truncated, quotas.length], [false, 6]);
    const series = await seriesOf(world);
    const of = `-,cluster_id="7",namespace`;
    for (const line of [
      `{${of}="team-a",name="compute-quota",resource="cpu",type="used"} 0.5`,
      `{${of}="team-a",name="compute-quota",resource="limits.memory",type="hard"} ${8 * 2 ** 30}`,
      `_parse_ok{${of}="team-c",name="odd-text"} 0`,
      `_info{${of}="team-a",name="object-counts",status="",request="pods: 3/50, services: 2/10",limit=""} 1`,
      "_export_total{-} 6",
    ])
      world.expect(line, series.includes(line));
    const listedAt = Number(/success_timestamp_seconds\{-\} (\d+)/.exec(series.join("\n"))?.[1]);
    world.expect(
      "the time is that of the listing",
      listedAt > 0 && world.sim.kernel.now >= listedAt,
    );
  }),
  story("quotas are filtered by namespaces and names", async (world) => {
    await beginWithExport(world, {
      namespaces: ["team-a"],
      filterNames: ["storage", "object"],
    });
    const names = statusOf(world).quotas?.map(({ name }) => name);
    world.expect("only these", names, ["object-counts", "storage-quota"]);
  }),
  story(
    "the series of a quota go with it, and those of an export with the object",
    async (world) => {
      await beginWithExport(world);
      createExport(world, {}, "other");
      const cluster = clusterOf(world);
      cluster.quotas = cluster.quotas.slice(0, 1);
      await world.pass(5 * MINUTE);
      const names = (await seriesOf(world)).flatMap(
        (line) => /,name="([^"]*)"/.exec(line)?.[1] ?? [],
      );
      world.expect("one quota is left", [...new Set(names)], ["compute-quota"]);
      world.sim.delete(resourceQuotaExportType, "quotas");
      await world.pass(SECOND);
      world.expect("none of the deleted export", await seriesOf(world), []);
      world.expect("the other one has its own", (await seriesOf(world, "other")).length > 0);
    },
  ),
  story("series that are three intervals old are not shown", async (world) => {
    await beginWithExport(world);
    world.fault("listResourceQuotas", refused(503), 10_000);
    await world.pass(14 * MINUTE);
    world.expect("the status has the last listing", statusOf(world).total, 12);
    world.expect("it says what is wrong", ready(world)?.reason, "Unavailable");
    world.expect("shown until then", (await seriesOf(world)).length > 0);
    await world.pass(2 * MINUTE);
    const before = listings(world);
    const left = await seriesOf(world);
    world.expect("only their age is shown", left.length, 1);
    world.expect("of the last listing", left[0]?.includes("export_last_success_timestamp_seconds"));
    world.expect("a scrape calls nothing", listings(world), before);
  }),
  unready("nothing is shown of a suspended export whose series are that old", async (world) => {
    await beginWithExport(world);
    world.change(resourceQuotaExportType, "quotas", { suspend: true });
    await world.pass(14 * MINUTE);
    world.expect("shown until then", (await seriesOf(world)).length > 0);
    await world.pass(2 * MINUTE);
    world.expect("not even their age", await seriesOf(world), []);
  }),
  unready("a listing that takes more than two minutes is reported", async (world) => {
    await beginWithExport(world);
    putQuotas(world, 1_000);
    world.fault("listResourceQuotas", { kind: "Slow", ms: 7 * SECOND }, 10_000);
    await world.pass(10 * MINUTE);
    const { status, reason, message = "" } = ready(world) ?? {};
    world.expect("it is not ready", [status, reason], ["False", "ReconcileTimedOut"]);
    world.expect("the call is named", message.includes("listResourceQuotas"));
  }),
  story("five thousand quotas are counted, and shown within bounds", async (world) => {
    putQuotas(world, 5_000);
    await world.begin();
    createExport(world);
    await world.pass(6 * MINUTE);
    const { total, truncated } = statusOf(world);
    world.expect("all are counted", [total, truncated], [5_000, true]);
    const { length } = JSON.stringify(world.sim.get(resourceQuotaExportType, "quotas"));
    world.expect("the object is small", length < 50_000);
    const series = await seriesOf(world);
    const left = Number(/_omitted\{-\} (\d+)/.exec(series.join("\n"))?.[1]);
    const shown = series.filter((line) => line.startsWith("_info")).length;
    world.expect("the rest is said to be left out", [left > 0, shown + left], [true, 5_000]);
    world.expect(
      "it is Ready",
      [ready(world)?.status, ready(world)?.reason],
      ["True", "TooManySeries"],
    );
    world.expect(
      "the message counts them",
      ready(world)?.message.includes(`${left} quotas are not`),
    );
  }),
  unready("every page of the quotas is exported", async (world) => {
    world.expect("all of them", await exportPages(world), PAGES);
  }),
  unready("quotas of which one is listed twice are not exported", async (world) => {
    world.rewrite("listResourceQuotas", (body) =>
      body.replaceAll('"q-100"', '"q-1"').replaceAll(":250", ":249"),
    );
    world.expect("nothing is exported", await exportPages(world), undefined);
  }),
  unready("quotas that are too long to read are not exported", async (world) => {
    world.rewrite("listResourceQuotas", (body) => `${body}${" ".repeat(4_000_000)}`);
    world.expect("nothing is exported", await exportPages(world), undefined);
  }),
];

const timeStories: readonly Story[] = [
  story(
    "quotas are listed once an interval, and at once after a change or on request",
    async (world) => {
      await beginWithExport(world);
      await world.pass(4 * MINUTE);
      world.expect("once", listings(world), 1);
      await world.pass(MINUTE);
      world.expect("again after the interval", listings(world), 2);
      change(world, { interval: "1m" });
      await world.pass(SECOND);
      world.expect("after a change", listings(world), 3);
      world.annotate(resourceQuotaExportType, "quotas", {
        [annotations.reconcileRequestedAt]: "now",
      });
      await world.pass(30 * SECOND);
      world.expect("on request, once", listings(world), 4);
      const { lastHandledReconcileAt } = statusOf(world) as Tree;
      world.expect("the request is answered", lastHandledReconcileAt, "now");
    },
  ),
  story("a restart does not list all quotas at once", async (world) => {
    await world.begin();
    const names = Array.from({ length: 8 }, (_, index) => `quotas-${index}`);
    for (const name of names) createExport(world, {}, name);
    await world.pass(MINUTE);
    const before = listings(world);
    world.happens({ kind: "Kill" });
    await world.pass(8 * SECOND);
    world.expect("few at first", listings(world) - before < names.length / 2);
    await world.pass(MINUTE);
    world.expect("all within a minute", listings(world) - before, names.length);
  }),
  unready(
    "a suspended export and one that only its own rules forbid list nothing",
    async (world) => {
      await beginWithExport(world, { suspend: true });
      world.expect("suspended", ready(world)?.reason, "Suspended");
      change(world, { suspend: false, interval: "5s" });
      await world.pass(MINUTE);
      world.expect("forbidden", ready(world)?.reason, "InvalidSpec");
      world.expect("nothing is listed", listings(world), 0);
    },
    // The message starts with the field.
    { excuses: ["readable message"] },
  ),
  story(
    "a rejected listing is tried again at its interval, then ever less often",
    async (world) => {
      const quotaExports = [clusterId, 99];
      const [grant] = ungranted.grants;
      await world.begin({ connection: { grants: [{ ...grant, quotaExports }] } });
      createExport(world, { clusterId: 99, interval: "1m" });
      await world.pass(13 * MINUTE);
      world.expect("it says why", ready(world)?.reason, "NotFound");
      const times = world.sim.journal.calls
        .filter(({ operation }) => operation === "listResourceQuotas")
        .map(({ sentAt }) => sentAt);
      const minutes = times
        .slice(1)
        .map((at, index) => Math.round((at - (times[index] ?? 0)) / MINUTE));
      world.expect("the pauses in minutes", minutes, [1, 2, 4, 5]);
      change(world, { clusterId });
      await world.pass(SECOND);
      world.expect("a change is tried at once", ready(world)?.reason, "Listed");
    },
  ),
];

const keyStories: readonly Story[] = [
  story(
    "quotas are listed with the connection's login only if a grant names the cluster",
    async (world) => {
      await world.begin({ connection: ungranted });
      createExport(world);
      await world.pass(MINUTE);
      world.expect("it says so", ready(world)?.reason, "QuotaExportNotGranted");
      world.expect("nothing is listed", listings(world), 0);
      change(world, withKey);
      await world.pass(MINUTE);
      world.expect("a key needs no grant", ready(world)?.reason, "Listed");
    },
  ),
  story("an export waits for its ApiKey, and for the key", async (world) => {
    await world.begin({ connection: ungranted });
    createExport(world, { apiKeyRef: { name: "later" } });
    await world.pass(SECOND);
    world.expect("there is no ApiKey", ready(world)?.reason, "WaitingForApiKey");
    world.fault("issueKey", { kind: "Slow", ms: 5 * SECOND });
    createKey(world.sim, "later");
    await world.pass(5 * SECOND);
    world.expect(
      "it has no key yet",
      ready(world)?.message,
      "ApiKey later does not have a key yet.",
    );
    world.expect("nothing is listed", listings(world), 0);
    await world.pass(MINUTE);
    world.expect("then it is listed", ready(world)?.reason, "Listed");
  }),
  unready("a key is never sent over another connection than its own", async (world) => {
    await world.begin();
    const connectionRef = { kind: "Connection", name: "elsewhere" };
    const { grants: _, ...spec } = connectionSpec;
    const login = { secretRef: { name: "login" } };
    const stringData = { ...DEFAULT_CREDENTIALS };
    world.sim.create(secretType, { metadata: inNamespace("login"), stringData });
    world.sim.create(connectionType, {
      metadata: inNamespace("elsewhere"),
      spec: { ...spec, credentials: { login } },
    });
    createExport(world, { ...withKey, connectionRef });
    await world.pass(MINUTE);
    world.expect("it says so", ready(world)?.reason, "ConnectionMismatch");
    world.expect("nothing is listed", listings(world), 0);
  }),
  story(
    "a rejected key is sent again after five minutes, and the next key at once",
    async (world) => {
      await world.begin();
      world.fault("listResourceQuotas", refused(401), 2);
      createExport(world, withKey);
      await world.pass(4 * MINUTE);
      world.expect("once", listings(world), 1);
      await world.pass(MINUTE + SECOND);
      world.expect("again", listings(world), 2);
      world.expect("it says why", ready(world)?.reason, "KeyRejected");
      world.expect("the key is named", ready(world)?.message.includes(world.live[0] ?? "?"));
      world.rotate("one");
      await world.pass(10 * SECOND);
      world.expect("the next key", ready(world)?.reason, "Listed");
    },
  ),
  story(
    "a denial names what is bound, and ends when a policy allows the listing",
    async (world) => {
      await world.begin({ connection: ungranted });
      world.sim.delete(policyBindingType, "reader");
      await world.pass(SECOND);
      createExport(world, withKey);
      await world.pass(SECOND);
      world.expect("the listing is denied", ready(world)?.reason, "PermissionDenied");
      world.expect("nothing is bound", ready(world)?.message.includes("No policy is bound"));
      world.expect("the request is named", /request(Id)? /.test(ready(world)?.message ?? ""));
      createBinding(world.sim, "deployer", [DEPLOY]);
      await world.pass(MINUTE);
      world.expect("one is bound", ready(world)?.message.includes("has 1 policy bound"));
      createBinding(world.sim, "reader", [READ]);
      await world.pass(MINUTE);
      world.expect("then it is listed", ready(world)?.reason, "Listed");
    },
  ),
];

export const quotaStories: readonly Story[] = [...shownStories, ...timeStories, ...keyStories];
