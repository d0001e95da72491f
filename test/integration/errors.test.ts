/** Errors and broken answers of a console over real HTTP: nothing is made twice, and all is well once the fault is over. */
import { expect, test } from "vitest";
import { findCondition, isTrue } from "../../src/api/conditions.ts";
import type { ConsoleFault } from "../../tools/iam-server/faults.ts";
import type { Operation } from "../../tools/iam-server/operations.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

/**
 * One for each way in which an answer goes wrong. `test/simulation/campaign.test.ts` has every fault at every call, and
 * `test/unit/iam/faults.test.ts` what each of them is called.
 */
const cells = [
  { operation: "login", name: "401", fault: { kind: "Refuse", status: 401 } },
  {
    operation: "listServiceAccounts",
    name: "a reset",
    fault: { kind: "Reset", when: "BeforeCommit" },
  },
  {
    operation: "getServiceAccount",
    name: "an empty body",
    fault: { kind: "Garble", how: "Empty" },
  },
  {
    operation: "searchActions",
    name: "503 with Retry-After",
    fault: { kind: "Refuse", status: 503, retryAfter: 1 },
  },
  { operation: "syncBindings", name: "422", fault: { kind: "Refuse", status: 422 } },
] as const satisfies readonly {
  readonly operation: Operation;
  readonly name: string;
  readonly fault: ConsoleFault;
}[];

const objects = [
  ["Connection", "console"],
  ["ServiceAccount", "ci"],
  ["ApiKey", "key"],
  ["PolicyBinding", "read"],
  ["ResourceQuotaExport", "all"],
] as const;

const declare = async (world: World) => {
  await world.connect({
    limits: { requestsPerSecond: 1_000, burst: 1_000, concurrency: 16, timeout: "15s" },
  });
  await world.serviceAccount("ci");
  await world.apiKey("key");
  await world.apply("PolicyBinding", "read", {
    serviceAccountRef: { name: "ci" },
    policyIds: ["pol-read"],
  });
  await world.apply("ResourceQuotaExport", "all", {
    connectionRef: { kind: "Connection", name: "console" },
    clusterId: 7,
    interval: "15s",
  });
};

/** Waits until all is well; asks again, as a person would, for what only a person can bring back. */
const settle = async (world: World) => {
  const said = new Set<string>();
  let asked = 0;
  let unready: readonly string[] = [];
  let askedAt = 0;
  await world.until(
    () => `everything to be ready; ${unready.join(", ")} is not:\n${[...said].join("\n")}`,
    async () => {
      const found = await Promise.all(
        objects.map(async ([kind, name]) => ({
          kind,
          name,
          status: (await world.get(kind, name)).status,
        })),
      );
      const left = found.filter(({ status }) => !isTrue(status?.conditions, "Ready"));
      unready = left.map(({ kind }) => kind);
      for (const { kind, status } of found) {
        const { reason, message } = findCondition(status?.conditions, "Ready") ?? {};
        if (message !== undefined) said.add(`${kind} ${reason}: ${message}`);
      }
      if (performance.now() < askedAt + 2_000) return left.length === 0;
      askedAt = performance.now();
      const stalled = left.filter(({ status }) => isTrue(status?.conditions, "Stalled"));
      asked += 1;
      for (const { kind, name } of stalled)
        await world.annotate(kind, name, {
          "iam-operator.io/reconcile-requested-at": String(asked),
        });
      return left.length === 0;
    },
    70_000,
  );
};

const expectOneOfEach = async (world: World) => {
  const [account, ...others] = [...world.iam.world.accounts.values()];
  expect(others).toEqual([]);
  const { saId = "", tpn = "" } = account ?? {};
  expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
  expect(await world.holdsLivePair("key")).toBe(true);
  const { current, orphaned = [] } = (await world.get("ApiKey", "key")).status ?? {};
  const known = [current, ...orphaned].map((key) => key?.keyId).toSorted();
  expect(
    world.iam.world
      .keysOf(saId)
      .map(({ keyId }) => keyId)
      .toSorted(),
  ).toEqual(known);
  return orphaned.length;
};

test(
  "no answer to a call does lasting harm, and a lost answer of issueKey is accounted for",
  inWorld({ bare: true }, async (world) => {
    const faults = cells.map(({ operation, fault }) => {
      // Each failure of these is waited out for a while.
      const times = operation === "login" ? 1 : 2;
      return world.iam.faults.add({ operation, fault, times });
    });
    world.iam.faults.add({ operation: "issueKey", fault: { kind: "Garble", how: "Truncated" } });
    await declare(world);
    await world.start();
    await Promise.all(faults.map(({ reached }) => reached));
    await settle(world);
    expect(await expectOneOfEach(world)).toBe(1);
  }),
  120_000,
);
