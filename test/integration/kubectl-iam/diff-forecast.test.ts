/** The operator does what `diff` has forecast, and nothing else. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { findCondition } from "../../../src/api/conditions.ts";
import { isPaused } from "../../../src/api/issuance.ts";
import type { KindName } from "../../../src/api/kinds.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { toText } from "../../../src/kubectl-iam/cluster/kinds.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type Differ, differ, object } from "./support/diff.ts";
import { openScene, type Scene } from "./support/scene.ts";

let scene: Scene;
let files: Differ;
beforeAll(async () => {
  scene = await openScene();
  files = differ(scene);
});
afterAll(() => scene.close());

const connectionRef = { kind: "Connection", name: "console" };
const account = (name: string, spec: object = {}) =>
  object("ServiceAccount", name, { connectionRef, ...spec });
const bind = (name: string, to: string, ...policyIds: readonly string[]) =>
  object("PolicyBinding", name, { serviceAccountRef: { name: to }, policyIds });
const key = (name: string, of: string, spec: object = {}, metadata: object = {}) =>
  object("ApiKey", name, { serviceAccountRef: { name: of }, ...spec }, metadata);
const quotas = (name: string, spec: object) =>
  object("ResourceQuotaExport", name, { connectionRef, ...spec });
const annotated = (name: string, value: string) => ({
  annotations: { [`iam-operator.io/${name}`]: value },
});

/** Files that are applied one after the other. */
const histories: Readonly<Record<string, readonly (readonly object[])[]>> = {
  "a set in reverse order, and without a change": [
    [key("set", "set"), bind("set", "set", "pol-read"), account("set")],
    [account("set"), key("set", "set"), bind("set", "set", "pol-read")],
  ],
  "a key moves to a new account with the same policies": [
    [account("from"), bind("from", "from", "pol-read"), key("moved", "from")],
    [key("moved", "to"), bind("to", "to", "pol-read"), account("to")],
  ],
  "a key moves to an account without policies": [
    [account("rich"), bind("rich", "rich", "pol-read"), key("stays", "rich")],
    [account("poor"), key("stays", "poor")],
  ],
  "a key moves to an account that does not exist": [
    [account("home"), key("strayed", "home")],
    [key("strayed", "nowhere")],
  ],
  "access is revoked, and granted again": [
    [account("leaked"), bind("leaked", "leaked", "pol-read"), key("leaked", "leaked")],
    [account("leaked", { access: "Revoked" })],
    [account("leaked", { access: "Granted" })],
  ],
  "an object is only planned for, and then carried out": [
    [account("plan"), bind("plan", "plan", "pol-read")],
    [
      {
        ...bind("plan", "plan", "pol-deploy"),
        metadata: { name: "plan", ...annotated("plan-only", "true") },
      },
      bind("plan-too", "plan", "pol-member"),
      key("plan", "plan", {}, annotated("plan-only", "yes")),
    ],
    [bind("plan", "plan", "pol-deploy"), key("plan", "plan")],
  ],
  "a rotation is requested, while suspended too": [
    [account("rotated"), key("rotated", "rotated")],
    [key("rotated", "rotated", {}, annotated("rotate-requested-at", "1"))],
    [key("rotated", "rotated", { suspend: true }, annotated("rotate-requested-at", "2"))],
    [key("rotated", "rotated", {}, annotated("rotate-requested-at", "2"))],
    [key("rotated", "rotated", {}, annotated("rotate-requested-at", "2"))],
  ],
  "a key is suspended, and only planned for": [
    [account("paused"), key("paused", "paused"), key("planned", "paused")],
    [
      key("paused", "paused", { suspend: true }),
      key("planned", "paused", {}, annotated("plan-only", "true")),
    ],
    [
      key("paused", "paused", { suspend: true }),
      key("planned", "paused", {}, annotated("plan-only", "true")),
    ],
    [key("paused", "paused"), key("planned", "paused")],
  ],
  "the Secret of a key changes": [
    [account("content"), key("content", "content")],
    [
      key("content", "content", {
        secret: { data: { both: "${keyId}:${secret}" }, labels: { team: "a" } },
      }),
    ],
    [key("content", "content", { expiresInDays: 30, maxIssuesPerDay: 9 })],
  ],
  "an account is suspended": [
    [
      account("still", { suspend: true }),
      bind("still", "still", "pol-read"),
      key("still", "still"),
    ],
    [account("still")],
    [
      account("still", { suspend: true }),
      bind("still", "still", "pol-deploy"),
      key("still-too", "still"),
    ],
  ],
  "a name that is taken": [
    [account("one", { name: "shared" })],
    [account("two", { name: "shared" })],
  ],
  "what an object refers to does not exist": [
    [bind("lone", "absent", "pol-read"), key("lone", "absent")],
    [account("lone", { connectionRef: { kind: "Connection", name: "absent" } })],
  ],
  "a Secret of another owner": [
    [
      { apiVersion: "v1", kind: "Secret", metadata: { name: "taken" }, stringData: { a: "b" } },
      account("taken"),
      key("taken", "taken"),
    ],
  ],
  "quotas are exported": [
    [account("quota"), bind("quota", "quota", "pol-read"), key("quota", "quota")],
    [
      quotas("listed", { clusterId: 7 }),
      quotas("with-key", { clusterId: 7, apiKeyRef: { name: "quota" } }),
      quotas("other-org", { clusterId: 9 }),
      quotas("keyless", { clusterId: 7, apiKeyRef: { name: "absent" } }),
      quotas("unconnected", {
        clusterId: 7,
        connectionRef: { kind: "Connection", name: "absent" },
        apiKeyRef: { name: "quota" },
      }),
    ],
    [quotas("listed", { clusterId: 9 }), quotas("other-org", { clusterId: 7, suspend: true })],
  ],
  "a connection with its login": [
    [
      account("fresh", { connectionRef: { kind: "Connection", name: "fresh" } }),
      {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "fresh" },
        stringData: DEFAULT_CREDENTIALS,
      },
      object("Connection", "fresh", {}),
    ],
  ],
};

/** As `diff` names them. */
const CALLS = ["createServiceAccount", "issueKey", "syncBindings"];

async function madeSince(start: number): Promise<readonly string[]> {
  const { world } = scene;
  const accounts = await world.kube.list(world.type("ServiceAccount"), {
    namespace: world.namespace,
  });
  const nameOf = (isIt: (each: (typeof accounts)[number]) => boolean) =>
    accounts.find(isIt)?.metadata.name;
  const calls = world.iam.requests.all.filter(
    ({ operation = "", sequence, decided = 0 }) =>
      CALLS.includes(operation) && sequence > start && decided < 300,
  );
  return calls
    .map(({ operation, body }) => {
      const { name, targetId, description = "" } = body as Record<string, string>;
      if (operation === "createServiceAccount")
        return `iamsa/${nameOf(({ status }) => status?.name === name)} ${operation}`;
      if (operation === "syncBindings")
        return `policies of iamsa/${nameOf(({ status }) => status?.tpn === targetId)} ${operation}`;
      return `iamkey/${/\/([^#]+)#/.exec(description)?.[1]} ${operation}`;
    })
    .toSorted();
}

test.each(Object.entries(histories))("%s", async (_, steps) => {
  const { world } = scene;
  const { spec } = await world.get("Connection", "console");
  for (const step of steps) {
    const set = (step as readonly ReturnType<typeof object>[]).map((each) =>
      each.kind === "Connection"
        ? { ...each, spec: { ...spec, credentials: { login: { secretRef: each.metadata } } } }
        : each,
    );
    const forecast = await files.diff(set, "-o json");
    const items: { object: string; call: string }[] = JSON.parse(forecast.output).items;
    const planned = items.map(({ object: title, call }) => `${title} ${call}`).toSorted();
    const calls = planned.filter((each) => CALLS.includes(each.split(" ").at(-1) ?? ""));
    const start = world.iam.requests.all.at(-1)?.sequence ?? 0;
    await files.apply(set);
    const isDone = async () => (await madeSince(start)).join() === calls.join();
    await world.until("the forecast calls", isDone, 10_000).catch(() => undefined);
    await settled();
    expect(await madeSince(start), forecast.output).toEqual(calls);
    await checkReadiness(set, forecast.notes);
    expect(await files.diff(set)).toMatchObject({ output: "" });
    const isSame = items.length === 0 && !/would not be ready|no other key/.test(forecast.notes);
    expect(forecast.code).toBe(isSame ? 0 : 1);
  }
});

/** Whether exactly those objects are not ready of which it was forecast, for the forecast reason. */
interface Reported {
  readonly status?: { readonly observedGeneration?: number };
}

async function checkReadiness(
  set: readonly { kind: string; metadata: { name: string } }[],
  notes: string,
) {
  const obstacles = new Map(
    [...notes.matchAll(/^(.+) would not be ready and would report (\w+): /gm)].map(
      ([, title, reason]) => [title, reason],
    ),
  );
  const stops = new Map(
    [
      ...notes.matchAll(/^(.+) would keep its key, be issued no other key, and report (\w+): /gm),
    ].map(([, title, reason]) => [title, reason]),
  );
  for (const { kind, metadata } of set) {
    if (kind === "Secret") continue;
    const stored = await scene.world.get(kind as KindName, metadata.name);
    const ready = findCondition(stored.status?.conditions, "Ready");
    const title = toText({ kind: kind as KindName, name: metadata.name });
    expect(`${title} ${ready?.status === "True" ? undefined : ready?.reason}`).toBe(
      `${title} ${obstacles.get(title)}`,
    );
    const issuance = findCondition(stored.status?.conditions, "IssuanceAllowed");
    const stop = stops.get(title);
    if (ready?.status === "True" && issuance?.status === "False" && !isPaused(issuance))
      expect(`${title} ${issuance.reason}`).toBe(`${title} ${stop}`);
    if (stop === undefined) continue;
    expect(ready?.status).toBe("True");
    expect(issuance).toMatchObject({ status: "False", reason: stop });
  }
}

const OBSERVED = [
  "Connection",
  "ServiceAccount",
  "PolicyBinding",
  "ApiKey",
  "ResourceQuotaExport",
] as const;
const QUIET_ROUNDS = 4;

/** Waits until all objects are reported on as they are, and nothing has happened for a while. */
async function settled(): Promise<void> {
  const { world } = scene;
  let last = "";
  let rounds = 0;
  const isQuiet = async () => {
    const lists = await Promise.all(
      OBSERVED.map((kind) =>
        world.kube.list<KubeObject & Reported>(world.type(kind) as never, {
          namespace: world.namespace,
        }),
      ),
    );
    const objects = lists.flat();
    const now = JSON.stringify([objects, world.iam.requests.all.length]);
    const isReported = objects.every(
      ({ metadata, status }) => status?.observedGeneration === metadata.generation,
    );
    rounds = isReported && now === last ? rounds + 1 : 0;
    last = now;
    return rounds >= QUIET_ROUNDS;
  };
  await world.until("the operator to settle", async () => {
    await new Promise((resolve) => setTimeout(resolve, 75));
    return isQuiet();
  });
}

test("what a key may list that is not issued yet is unknown", async () => {
  const { code, notes } = await files.diff([
    account("later"),
    key("later", "later"),
    quotas("later", { clusterId: 7, apiKeyRef: { name: "later" } }),
  ]);
  expect(notes).toMatch(
    /^error: iamrq\/later: what would change is unknown: what ApiKey later may list /m,
  );
  expect(code).toBe(4);
});
