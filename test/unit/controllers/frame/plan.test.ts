/** Objects that are planned for: nothing is written for them but their status, and the plan is what a run would do. */
import { afterEach, describe, expect, test } from "vitest";
import { secretType } from "../../../../src/controllers/resource-types.ts";
import { toIamReader } from "../../../../src/iam/client/reader.ts";
import { toKubeReader } from "../../../../src/kube/client/reader.ts";
import { clientOf } from "../../iam/clients.ts";
import {
  type KindName,
  type PlanningWorld,
  plannedCalls,
  planningWorld,
  standing,
} from "./planning-world.ts";

let world: PlanningWorld;
afterEach(() => world.close());

const KEY = { serviceAccountRef: { name: "bot" } };
const PAIR = { id: "${keyId}", key: "${secret}" };
const BINDING = { serviceAccountRef: { name: "bot" }, policyIds: ["pol-read"] };

/** An account, its policies and its key, as without any plan. */
async function settle() {
  await world.connect();
  world.put("ServiceAccount", "bot", {});
  await world.reconcile("ServiceAccount", "bot");
  world.put("PolicyBinding", "read", BINDING);
  await world.reconcile("PolicyBinding", "read");
  world.put("ApiKey", "key", KEY);
  await world.reconcile("ApiKey", "key");
}

describe("a planned run", () => {
  test("of a new account says that it would be created, and creates none", async () => {
    world = await planningWorld();
    await world.connect();
    const before = world.writes();
    world.put("ServiceAccount", "bot", {}, true);
    const object = await world.reconcile("ServiceAccount", "bot");
    expect(plannedCalls(object)).toEqual(["createServiceAccount team-bot"]);
    expect(standing(object)).toBe("Ready=False PlanOnly Stalled");
    expect(object.status.attempt).toBeUndefined();
    expect(world.calls()).toEqual([]);
    expect(world.writes()).toEqual(before);
  });

  test("of a new key says that it would be issued and written", async () => {
    world = await planningWorld();
    await settle();
    const [calls, writes] = [world.calls(), world.writes()];
    world.put("ApiKey", "other", KEY, true);
    const object = await world.reconcile("ApiKey", "other");
    const { saId } = world.peek("ServiceAccount", "bot").status;
    expect(plannedCalls(object)).toEqual([`issueKey ${saId}`, "writeSecret team/other"]);
    expect(standing(object)).toBe("Ready=False PlanOnly Stalled");
    expect([world.calls(), world.writes()]).toEqual([calls, writes]);
    expect(world.cluster.writes.some(({ dryRun }) => dryRun)).toBe(false);
  });

  test("of a binding names what would be bound and unbound", async () => {
    world = await planningWorld();
    await settle();
    const [calls, writes] = [world.calls(), world.writes()];
    world.put("PolicyBinding", "read", { ...BINDING, policyIds: ["pol-admin"] }, true);
    const object = await world.reconcile("PolicyBinding", "read");
    const [call] = object.status.plan.calls;
    expect(call).toMatchObject({ call: "syncBindings" });
    expect(call.bind).toEqual([expect.stringMatching(/^pol-admin/)]);
    expect(call.unbind).toEqual([expect.stringMatching(/^pol-read \(.+\)$/)]);
    expect(standing(object)).toBe("Ready=False PlanOnly Stalled");
    expect(object.status.appliedPolicyIds).toEqual(["pol-read"]);
    expect([world.calls(), world.writes()]).toEqual([calls, writes]);
  });

  test.each(["ServiceAccount", "ApiKey", "PolicyBinding"] as const)(
    "of a %s that needs nothing is Ready with an empty plan",
    async (kind) => {
      world = await planningWorld();
      await settle();
      const calls = world.calls();
      const [name, spec] = {
        ServiceAccount: ["bot", {}],
        ApiKey: ["key", KEY],
        PolicyBinding: ["read", BINDING],
      }[kind] as [string, object];
      world.put(kind, name, spec, true);
      const object = await world.reconcile(kind, name);
      expect(plannedCalls(object)).toEqual([]);
      expect(standing(object)).toMatch(/^Ready=True \w+$/);
      expect(world.calls()).toEqual(calls);
    },
  );

  test("of a deletion says what would be taken away, and lets nothing go", async () => {
    world = await planningWorld();
    await settle();
    const { tpn } = world.peek("ServiceAccount", "bot").status;
    const { keyId } = world.peek("ApiKey", "key").status.current;
    world.put("ApiKey", "key", { ...KEY, deletionPolicy: "Delete" }, true);
    world.put("PolicyBinding", "read", BINDING, true);
    const [calls, writes] = [world.calls(), world.writes()];
    world.delete("ApiKey", "key");
    world.delete("PolicyBinding", "read");
    const key = await world.reconcile("ApiKey", "key");
    const binding = await world.reconcile("PolicyBinding", "read");
    expect(plannedCalls(key)).toEqual([
      `disableKey ${keyId}`,
      `deleteKey ${keyId}`,
      "deleteSecret team/key",
    ]);
    expect(plannedCalls(binding)).toEqual([`syncBindings ${tpn}`]);
    expect(standing(key)).toBe("Ready=True PlanOnly");
    expect(standing(binding)).toBe("Ready=False PlanOnly Stalled");
    expect([world.calls(), world.writes()]).toEqual([calls, writes]);
  });
});

const changes: readonly (readonly [what: string, kind: KindName, name: string, spec: object])[] = [
  ["a new account", "ServiceAccount", "second", {}],
  ["a new key", "ApiKey", "second", KEY],
  ["more policies", "PolicyBinding", "read", { ...BINDING, policyIds: ["pol-read", "pol-deploy"] }],
  ["another template", "ApiKey", "key", { ...KEY, secret: { data: PAIR } }],
];

test.each(changes)("the plan for %s is what is done without it", async (_, kind, name, spec) => {
  world = await planningWorld();
  await settle();
  world.put(kind, name, spec, true);
  const planned = plannedCalls(await world.reconcile(kind, name)) ?? [];
  const before = world.calls().length;
  const stored = JSON.stringify(world.cluster.peek(secretType, { namespace: "team", name }));
  world.put(kind, name, spec, false);
  const object = await world.reconcile(kind, name);
  expect(object.status.plan).toBeUndefined();
  const done: string[] = world.calls().slice(before);
  const now = JSON.stringify(world.cluster.peek(secretType, { namespace: "team", name }));
  if (now !== stored) done.push("writeSecret");
  expect(planned.map((call) => call.split(" ")[0])).toEqual(done);
  expect(done).not.toEqual([]);
});

test("one binding that is planned for holds back the others of its account, but does not delay revoking access", async () => {
  world = await planningWorld();
  await settle();
  world.put("PolicyBinding", "other", { ...BINDING, policyIds: ["pol-deploy"] }, true);
  world.put("PolicyBinding", "read", { ...BINDING, policyIds: ["pol-read", "pol-member"] });
  const calls = world.calls();
  const held = await world.reconcile("PolicyBinding", "read");
  expect(standing(held)).toBe("Ready=False PlanOnly Stalled");
  expect(held.status.plan.calls[0].bind).toHaveLength(2);
  expect(world.calls()).toEqual(calls);
  world.put("ServiceAccount", "bot", { access: "Revoked" });
  await world.reconcile("PolicyBinding", "read");
  expect(world.calls()).toEqual([...calls, "syncBindings"]);
});

test("a plan is no way around a withdrawal: that is carried out, and nothing else of the object", async () => {
  world = await planningWorld();
  await settle();
  const { tpn } = world.peek("ServiceAccount", "bot").status;
  world.put("PolicyBinding", "read", { ...BINDING, policyIds: ["pol-read", "pol-member"] }, true);
  world.put("PolicyBinding", "gone", { ...BINDING, policyIds: ["pol-deploy"] });
  await world.grant({ policyIds: ["pol-member", "pol-deploy"] });
  await world.reconcile("PolicyBinding", "read");
  expect(world.console.world.bindings.get(tpn)).toEqual(["pol-deploy"]);
  expect(world.peek("PolicyBinding", "read").status.appliedPolicyIds).toEqual([]);
});

test("a read-only operator plans for every object, and exports quotas", async () => {
  world = await planningWorld({ readOnly: true });
  await world.connect();
  const { saId } = world.console.world.createAccount({
    orgId: "org-1",
    projectId: "prj-1",
    name: "old",
    description: "",
  });
  world.put("ServiceAccount", "bot", { saId });
  world.put("ResourceQuotaExport", "quotas", { clusterId: 7 });
  const account = await world.reconcile("ServiceAccount", "bot");
  const quotas = await world.reconcile("ResourceQuotaExport", "quotas");
  world.put("PolicyBinding", "read", BINDING);
  const binding = await world.reconcile("PolicyBinding", "read");
  world.put("ApiKey", "key", KEY);
  const key = await world.reconcile("ApiKey", "key");
  expect(standing(account)).toBe("Ready=True Imported");
  expect(standing(quotas)).toMatch(/^Ready=True/);
  expect(plannedCalls(binding)).toEqual([`syncBindings ${account.status.tpn}`]);
  expect(plannedCalls(key)).toEqual([`issueKey ${saId}`, "writeSecret team/key"]);
  expect(world.calls()).toEqual([]);
  expect(world.writes()).toEqual([]);
});

test("a pair that nobody else has is written although a plan is wanted", async () => {
  world = await planningWorld();
  await settle();
  world.put("ApiKey", "other", KEY);
  world.cluster.strike = ({ plural, dryRun }) =>
    plural === "secrets" && !dryRun ? { kind: "Refuse", status: 503 } : undefined;
  await expect(world.reconcile("ApiKey", "other")).rejects.toThrow();
  world.put("ApiKey", "other", KEY, true);
  world.cluster.strike = () => undefined;
  const before = world.calls();
  await world.reconcile("ApiKey", "other");
  const kept = world.cluster.peek(secretType, { namespace: "team", name: "other-next" });
  expect(kept.data).toBeDefined();
  const object = await world.reconcile("ApiKey", "other");
  expect(plannedCalls(object)).toEqual(["writeSecret team/other", "deleteSecret team/other-next"]);
  expect(world.calls()).toEqual(before);
});

test("the readers of a plan have no method that writes", async () => {
  world = await planningWorld();
  const reader = toKubeReader(world.context.kube);
  expect(Object.keys(reader)).toEqual(["get", "list", "collect"]);
  // @ts-expect-error there is no such method
  expect(reader.delete).toBeUndefined();
  const client = clientOf(world.console);
  const writing = [
    "createServiceAccount",
    "issueKey",
    "syncBindings",

    "urgent",
    "requested",
    "close",
  ];
  const methods = Object.keys(client).filter((name) => !writing.includes(name));
  expect(Object.keys(toIamReader(client)).toSorted()).toEqual(methods.toSorted());
  // @ts-expect-error there is no such method
  expect(toIamReader(client).issueKey).toBeUndefined();
});
