/** Consoles of other tenants answer nothing any more, with more than a hundred objects that wait for them. */
import { expect, test } from "vitest";
import { isTrue } from "../../../src/api/conditions.ts";
import { SECOND } from "../../../src/util/time.ts";
import type { FaultRule } from "../../../tools/iam-server/faults.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import type { World } from "../../real-world/world.ts";
import { startWeb } from "../../support/local-server.ts";
import { withNeighbours } from "../../tenants/support/neighbours.ts";

const { orgId, projectId } = SEEDED;
const HANGING = 120;
const KILLS = 20;
/** Far more than is needed, on a busy machine too, and less than the calls that hang take. */
const BOUND_MS = 10 * SECOND;
/** The longest that a tenant may choose. */
const limits = { timeout: "30s", concurrency: 256, requestsPerSecond: 1_000, burst: 1_000 };

const hang = ({ iam }: World, rule: Pick<FaultRule, "operation" | "where">) =>
  iam.faults.add({ ...rule, fault: { kind: "Silence", when: "BeforeCommit" }, times: "always" });
const names = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => `${prefix}-${n}`);
const bind = (world: World, name: string) =>
  world.apply("PolicyBinding", name, {
    serviceAccountRef: { name },
    policyIds: ["pol-read"],
  });

/** ServiceAccounts that the console knows already. */
async function importAccounts(world: World, accounts: readonly string[]): Promise<void> {
  const { iam } = world;
  const create = (name: string) =>
    iam.world.createAccount({ orgId, projectId, name, description: "" });
  await Promise.all(
    accounts.map((name) => world.serviceAccount(name, { saId: create(name).saId })),
  );
  const ready = async () => {
    const { length } = accounts;
    if (iam.requests.count("getServiceAccount") < length) return false;
    const objects = await world.kube.list(world.type("ServiceAccount"), world);
    return objects.filter(({ status }) => isTrue(status?.conditions, "Ready")).length >= length;
  };
  await world.until("the accounts to be ready", ready, 120 * SECOND);
}

/** A tenant whose accounts are ready, and whose policies the console neither shows nor takes. */
async function withoutBindings(world: World, accounts: readonly string[]): Promise<void> {
  hang(world, { operation: "listBindings" });
  await world.connect({ limits });
  await importAccounts(world, accounts);
  await Promise.all(accounts.map((name) => bind(world, name)));
}

/** How long after the request the policies were unbound at the console. */
async function suspend(world: World, name: string): Promise<number> {
  const { tpn = "" } = (await world.get("ServiceAccount", name)).status ?? {};
  const since = Date.now();
  await world.patch("ServiceAccount", name, { spec: { access: "Revoked" } });
  const { journal } = world.iam.world;
  const unbound = () =>
    journal.find(
      (each) => each.kind === "bindingsReplaced" && each.tpn === tpn && each.after.length === 0,
    );
  await world.until(`the policies of ${name} to go`, () => unbound() !== undefined, BOUND_MS);
  return (unbound()?.at ?? Number.POSITIVE_INFINITY) - since;
}

function show(waits: readonly number[]): void {
  const sorted = waits.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
  console.log(`revoke access: p50 ${at(0.5)} ms, p90 ${at(0.9)} ms, p99 ${at(0.99)} ms`);
}

test(
  "revoking access and new objects of a tenant do not wait for hanging consoles of others",
  withNeighbours(3, async (healthy, hostile, ...others) => {
    const victims = names("victim", KILLS);
    await healthy.connect();
    for (const name of victims) {
      await healthy.serviceAccount(name);
      await bind(healthy, name);
    }
    for (const name of victims) await healthy.ready("PolicyBinding", name);

    // Half of the accounts revoke access as well, and all looks at an account hang.
    const accounts = names("hostile", HANGING);
    await withoutBindings(hostile, accounts);
    hang(hostile, { where: ({ operation }) => operation !== "login" });
    const spec = { access: "Revoked" };
    const suspended = accounts.filter((_, n) => n % 2 === 0);
    await Promise.all(suspended.map((name) => hostile.patch("ServiceAccount", name, { spec })));
    // Logins that hang, and namespaces that take what the first one leaves to plain work on policies.
    const { url: baseURL } = await startWeb(() => undefined);
    const connection = await hostile.get("Connection", "console");
    for (const name of names("silent", 4))
      await hostile.apply("Connection", name, { ...connection.spec, baseURL });
    for (const other of others) await withoutBindings(other, names("other", 2));
    const { requests } = hostile.iam;
    const hanging = () => requests.all.filter(({ faults }) => faults.includes("Silence"));
    await hostile.until("the calls to hang", () => {
      const operations = hanging().map(({ operation }) => operation);
      return operations.includes("getServiceAccount") && operations.includes("listBindings");
    });

    await healthy.apply("Connection", "second", (await healthy.get("Connection", "console")).spec);
    const waits: number[] = [];
    for (const [n, name] of victims.entries()) {
      await healthy.serviceAccount(`new-${n}`);
      expect(requests.inFlight).toBeGreaterThan(0);
      waits.push(await suspend(healthy, name));
    }
    show(waits);
    for (const name of names("new", KILLS)) await healthy.ready("ServiceAccount", name);
    await healthy.ready("Connection", "second");
    expect(requests.inFlight).toBeGreaterThan(0);
    expect(hanging().filter(({ status }) => status !== undefined)).toEqual([]);
    expect(hostile.iam.world.bindings.size).toBe(0);
  }),
  300_000,
);
