/** Every key that an attempt led to is in the status of its ApiKey, however late or often its call took effect. */
import { expect, test } from "vitest";
import { apiKeyType, serviceAccountType } from "../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../src/util/time.ts";
import type { CallFault } from "./faults.ts";
import { NO_FAULTS } from "./faults.ts";
import { apiKeysOf } from "./invariants/view.ts";
import { createAll, createKey, inNamespace, startWithAll } from "./scenarios.ts";
import { type ConsoleSettings, SimWorld } from "./sim-world.ts";

const flags = ["--leader-elect=false"];

async function run(
  fault: CallFault & { readonly ms: number },
  settings: ConsoleSettings = {},
  operation = "issueKey",
) {
  const select = { server: "iam", operation, nth: 1 } as const;
  const plan = { name: "audit", faults: [{ on: "call", select, fault } as const] };
  const world = new SimWorld({ seed: 1, plan, flags, ...settings });
  world.startOperator();
  world.unleash();
  createAll(world);
  await world.kernel.advance(15 * MINUTE + fault.ms);
  return world;
}

function keysOf(world: SimWorld) {
  const [{ status } = {}] = apiKeysOf(world);
  const issued = [...world.console.world.keys.keys()];
  const orphaned = status?.orphaned ?? [];
  return {
    issued: issued.length,
    current: issued.indexOf(status?.current?.keyId ?? ""),
    orphaned: orphaned.map(({ keyId = "" }) => issued.indexOf(keyId)),
  };
}

function accountOf(world: SimWorld) {
  return world.list(serviceAccountType)[0]?.status as {
    unmanagedKeyCount?: number;
    unmanagedKeys?: readonly object[];
    conditions: readonly { type: string; status: string }[];
  };
}

const isManaged = (world: SimWorld) =>
  accountOf(world).conditions.find(({ type }) => type === "KeysManaged")?.status;

test.each<[string, CallFault & { readonly ms: number }, object]>([
  ["a minute later", { kind: "LateCommit", ms: MINUTE }, { issued: 2, current: 0, orphaned: [1] }],
  ["an hour later", { kind: "LateCommit", ms: HOUR }, { issued: 2, current: 0, orphaned: [1] }],
  [
    "twice",
    { kind: "DoubleCommit", answer: "First", ms: SECOND },
    { issued: 2, current: 0, orphaned: [1] },
  ],
  [
    "twice, with the second response",
    { kind: "DoubleCommit", answer: "Second", ms: SECOND },
    { issued: 2, current: 1, orphaned: [0] },
  ],
])("a key that is issued %s is orphaned of its ApiKey", async (_, fault, expected) => {
  const world = await run(fault);
  expect(keysOf(world)).toEqual(expected);
  expect(accountOf(world).unmanagedKeyCount).toBe(0);
  expect(isManaged(world)).toBe("True");
});

test("without descriptions, the account reports a key that is issued late", async () => {
  const world = await run(
    { kind: "LateCommit", ms: MINUTE },
    { shapes: { keyRecords: "keyIdOnly" } },
  );
  const late = [...world.console.world.keys.keys()][1];
  expect(keysOf(world)).toEqual({ issued: 2, current: 0, orphaned: [] });
  expect(accountOf(world).unmanagedKeys).toMatchObject([{ keyId: late }]);
  expect(isManaged(world)).toBe("False");
});

const orphanedAccounts = (world: SimWorld) =>
  world.list(serviceAccountType).map(({ status }) => {
    const { saId, orphanedAccounts: orphaned = [] } = status as unknown as {
      saId: string;
      orphanedAccounts?: readonly { saId: string }[];
    };
    const created = [...world.console.world.accounts.keys()];
    return [created.indexOf(saId), ...orphaned.map((each) => created.indexOf(each.saId))];
  });

const evidenceOf = (world: SimWorld) =>
  world.list(serviceAccountType).flatMap(({ status }) => {
    const { orphanedAccounts: orphaned = [] } = status as unknown as {
      orphanedAccounts?: readonly { evidence: string }[];
    };
    return orphaned.map(({ evidence }) => evidence);
  });

test.each([
  ["a minute later", MINUTE, "shown", "Description"],
  ["half an hour later", HOUR / 2, "shown", "Description"],
  ["a minute later", MINUTE, "omitted", "Name"],
  ["half an hour later", HOUR / 2, "omitted", "Name"],
] as const)(
  "an account that is created %s is orphaned of its ServiceAccount (%#)",
  async (_, ms, accountDescriptions, evidence) => {
    const settings = { shapes: { accountDescriptions } };
    const world = await run({ kind: "LateCommit", ms }, settings, "createServiceAccount");
    // An account that somebody else has created under another name is nobody's.
    world.console.world.createAccount({ orgId: "o", projectId: "p", name: "x", description: "" });
    await world.kernel.advance(HOUR / 2);
    expect(orphanedAccounts(world)).toEqual([[0, 1]]);
    expect(evidenceOf(world)).toEqual([evidence]);
  },
);

test("an account that is created hours later is found within a day", {
  timeout: 120_000,
}, async () => {
  const world = await run({ kind: "LateCommit", ms: 3 * HOUR }, {}, "createServiceAccount");
  expect(orphanedAccounts(world)).toEqual([[0]]);
  await world.kernel.advance(DAY);
  expect(orphanedAccounts(world)).toEqual([[0, 1]]);
});

test("an account that is created twice is found soon, and leaves the status once it is deleted", async () => {
  const fault = { kind: "DoubleCommit", answer: "Second", ms: SECOND } as const;
  const world = await run(fault, {}, "createServiceAccount");
  await world.kernel.advance(5 * MINUTE);
  expect(orphanedAccounts(world)).toEqual([[1, 0]]);
  const [first = ""] = world.console.world.accounts.keys();
  world.console.world.deleteAccount(first);
  await world.kernel.advance(HOUR + MINUTE);
  expect(orphanedAccounts(world)).toEqual([[0]]);
});

test("all accounts are listed for a creation, a quarter of an hour after it, and once a day", {
  timeout: 120_000,
}, async () => {
  const world = new SimWorld({ seed: 1, plan: NO_FAULTS, flags });
  const lists = () =>
    world.journal.calls.filter(({ operation }) => operation === "listServiceAccounts").length;
  await startWithAll(world, { connection: { accountPollInterval: "30m" } });
  for (const name of ["two", "three"])
    world.create(serviceAccountType, { metadata: inNamespace(name), spec: {} });
  await world.kernel.advance(10 * MINUTE);
  const forCreations = lists();
  expect(forCreations).toBeLessThanOrEqual(3);
  await world.kernel.advance(HOUR);
  expect(lists()).toBe(forCreations + 1);
  await world.kernel.advance(DAY);
  expect(lists()).toBe(forCreations + 2);
});

test("a key that was issued outside the operator is reported, and forged descriptions move nothing", async () => {
  const world = new SimWorld({ seed: 1, plan: NO_FAULTS, flags });
  await startWithAll(world);
  createKey(world, "two");
  await world.kernel.advance(MINUTE);
  const [account] = world.console.world.accounts.values();
  for (const description of [
    "by hand",
    "k8s elsewhere/ci#a1b2c3d4-abc",
    "k8s team/ci#a1b2c3d4-abc",
  ])
    world.console.world.issueKey(account?.saId ?? "", { description, expiresInDays: 1 });
  await world.kernel.advance(20 * MINUTE);
  expect(accountOf(world).unmanagedKeyCount).toBe(3);
  expect(world.list(apiKeyType)).toHaveLength(2);
  for (const { status } of apiKeysOf(world)) expect(status?.orphaned ?? []).toEqual([]);
});
