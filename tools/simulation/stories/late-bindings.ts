/** A syncBindings call without a usable response that takes effect late: what was withdrawn since is soon gone again. */
import { policyBindingType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { type Tree, treeAt } from "../../api-server/tree.ts";
import { deleteAll } from "../scenarios/endings.ts";
import { ACCOUNT, createBinding, DEPLOY, MEMBER, READ } from "../scenarios.ts";
import { bindInConsole, grant, withdrawn } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

type Act = (world: StoryWorld) => void;

const unreadable = { console: { shapes: { bindings: "unreadable" } } } as const;

const revoke: Act = (world) => world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
const deleteBinding: Act = (world) => void world.sim.delete(policyBindingType, "reader");
const kill: Act = (world) => world.happens({ kind: "Kill" });
const nothing: Act = () => undefined;

/** The first syncBindings call gets a 504, and the next one binds the policy. */
async function beginUnanswered(world: StoryWorld): Promise<void> {
  world.fault("syncBindings", { kind: "Refuse", status: 504 });
  await world.begin({ policyIds: [READ] });
  world.expect("bound by the next call", world.bound, [READ]);
}

/** For how long the policy is bound in the next while, to half a second. */
async function boundFor(world: StoryWorld, ms: number): Promise<number> {
  let boundMs = 0;
  for (let passed = 0; passed < ms; passed += SECOND / 2) {
    await world.pass(SECOND / 2);
    if (world.bound.includes(READ)) boundMs += SECOND / 2;
  }
  return boundMs;
}

/** What the unanswered call was to bind is bound now. */
function commitLate(world: StoryWorld, policyIds: readonly string[] = [READ]): void {
  bindInConsole(world, policyIds);
}

/** What the account's status says about its policies. */
function record(world: StoryWorld): Tree {
  return treeAt(treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status"), "bindings");
}

function isThere(world: StoryWorld): boolean {
  return world.sim.get(serviceAccountType, ACCOUNT) !== undefined;
}

function reads(world: StoryWorld): number {
  return world.calls("listBindings");
}

const ways: readonly [what: string, withdraw: Act, then: Act][] = [
  ["access is revoked", revoke, nothing],
  ["access is revoked, then another leader takes over", revoke, kill],
  ["the PolicyBinding is deleted", deleteBinding, nothing],
  ["it is deleted, then another leader takes over", deleteBinding, kill],
  [
    "its policies change",
    (world) => world.change(policyBindingType, "reader", { policyIds: [DEPLOY] }),
    nothing,
  ],
  ["the grant loses the policy", (world) => grant(world, { policyIds: [DEPLOY] }), nothing],
];

export const lateBindingStories: readonly Story[] = [
  ...ways.map(([what, withdraw, then]) =>
    withdrawn(
      `what is bound late after it was withdrawn is bound for less than 5 s: ${what}`,
      async (world) => {
        await beginUnanswered(world);
        withdraw(world);
        await world.pass(2 * SECOND);
        world.expect("it is unbound", world.bound.includes(READ), false);
        then(world);
        await world.pass(15 * SECOND);
        commitLate(world);
        world.expect("unbound again", (await boundFor(world, 3 * MINUTE)) < 5 * SECOND);
        const events = [...world.events(ACCOUNT), ...world.events("reader")].join(" ");
        world.expect(
          "an event names it",
          /PoliciesReappeared: .*bound pol-read again/.test(events),
        );
        const metrics = await world.sim.scrape();
        world.expect("it is counted", metrics.includes("iam_operator_reappeared_policies_total 1"));
      },
    ),
  ),
  withdrawn(
    "what is bound late after an outage of the console is unbound as well",
    async (world) => {
      await beginUnanswered(world);
      for (const operation of ["syncBindings", "listBindings"])
        world.fault(operation, { kind: "Refuse", status: 502 }, 1_000);
      revoke(world);
      await world.pass(5 * MINUTE);
      world.cease();
      for (let minute = 0; minute < 6; minute += 1)
        await world.until(() => world.bound.length === 0);
      world.expect("it is unbound", world.bound, []);
      await world.pass(15 * SECOND);
      commitLate(world);
      world.expect("unbound again", (await boundFor(world, MINUTE)) < 30 * SECOND);
    },
  ),
  story("a late call leaves policies alone that were bound outside the operator", async (world) => {
    await world.begin({ policyIds: [DEPLOY] });
    bindInConsole(world, [DEPLOY, MEMBER]);
    world.fault("syncBindings", { kind: "Reset", when: "BeforeCommit" });
    createBinding(world.sim, "second", [READ]);
    await world.pass(10 * SECOND);
    world.sim.delete(policyBindingType, "second");
    await world.pass(10 * SECOND);
    commitLate(world, [DEPLOY, MEMBER, READ]);
    await world.pass(MINUTE);
    world.expect("without the late one", world.bound, [DEPLOY, MEMBER]);
  }),
  unready(
    "a late call leaves a policy alone that a deleted PolicyBinding retains",
    async (world) => {
      await beginUnanswered(world);
      grant(world, { retainPolicies: true });
      world.change(policyBindingType, "reader", { deletionPolicy: "Retain" });
      await world.pass(SECOND);
      deleteBinding(world);
      await world.pass(2 * MINUTE);
      world.expect("it stays bound", world.bound, [READ]);
    },
  ),
  withdrawn(
    "what a late call binds is unbound again and again, without a pause for contention",
    async (world) => {
      await beginUnanswered(world);
      deleteBinding(world);
      await world.pass(2 * SECOND);
      for (let count = 0; count < 8; count += 1) {
        commitLate(world);
        await world.pass(10 * SECOND);
      }
      world.expect("nothing is bound", world.bound, []);
    },
  ),
  withdrawn(
    "while bindings cannot be read, revoked access is repeated in case a call takes effect late",
    async (world) => {
      await beginUnanswered(world);
      revoke(world);
      await world.pass(10 * SECOND);
      commitLate(world);
      world.expect("unbound again", (await boundFor(world, MINUTE)) < 5 * SECOND);
    },
    unreadable,
  ),
  withdrawn(
    "what is bound late while everything is deleted is unbound, and then the deletion ends",
    async (world) => {
      await beginUnanswered(world);
      const begun = world.sim.kernel.elapsed;
      deleteAll(world.sim);
      await world.pass(4 * MINUTE);
      world.expect("the object is still there", isThere(world));
      const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it says why", reason, "WaitingForLateCall");
      kill(world);
      commitLate(world);
      world.expect("unbound again", (await boundFor(world, MINUTE)) < 35 * SECOND);
      while (isThere(world) && world.sim.kernel.elapsed < begun + 15 * MINUTE)
        await world.pass(SECOND);
      const minutes = (world.sim.kernel.elapsed - begun) / MINUTE;
      world.expect(`it ends within eleven minutes, not ${minutes}`, minutes < 11);
      world.expect("nothing is bound", world.bound, []);
    },
  ),
  story(
    "after a call without a response, bindings are read seven times in a minute",
    async (world) => {
      world.fault("syncBindings", { kind: "Refuse", status: 504 });
      await world.begin({ policyIds: [READ] });
      await world.pass(10 * MINUTE);
      const within = (ms: number) =>
        world.sim.journal.calls.filter(
          ({ operation, sentAt }) => operation === "listBindings" && sentAt < ms,
        ).length;
      // One before the call, one before it is repeated, and one that shows its effect.
      world.expect("seven reads", within(62 * SECOND), 3 + 7);
      world.expect("then as scheduled", within(10 * MINUTE), 3 + 7 + 1);
    },
  ),
  story("a call that may still take effect is reported until it cannot", async (world) => {
    await beginUnanswered(world);
    const message = () => world.condition(policyBindingType, "reader")?.message ?? "";
    world.expect("it is said", /may still take effect: .*until \S+T\S+Z/.test(message()));
    await world.pass(12 * MINUTE);
    world.expect("no longer", message(), "1 policy is bound.");
    world.expect("nor on record", record(world).unansweredSync, undefined);
  }),
  story("bindings are not read more often after a call with a known outcome", async (world) => {
    world.fault("syncBindings", { kind: "Refuse", status: 403 });
    await world.begin({ policyIds: [READ] });
    await world.pass(6 * MINUTE);
    world.expect("bound in the end", world.bound, [READ]);
    const before = reads(world);
    await world.pass(3 * MINUTE);
    world.expect("read as scheduled", reads(world) - before <= 1);
  }),
  story("a PolicyBinding costs four writes and an event", async (world) => {
    await world.begin();
    await world.pass(MINUTE);
    const before = world.sim.journal.calls.length;
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(2 * SECOND);
    const writes = world.sim.journal.calls.slice(before).filter(({ mutating }) => mutating);
    world.expect(
      "finalizer, intent, call, its event, record, status",
      writes.map(({ operation }) => operation),
      [
        "patch policybindings",
        "apply policybindings/status",
        "syncBindings",
        "create events",
        "apply serviceaccounts/status",
        "apply policybindings/status",
      ],
    );
  }),
  withdrawn(
    "revoked access is confirmed by a read at once, which the record then has for an hour",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      revoke(world);
      await world.pass(5 * SECOND);
      world.expect("nothing is bound", record(world).policyCount, 0);
      const confirmed = treeAt(record(world), "revocation").time;
      world.expect("confirmed", typeof confirmed, "string");
      await world.pass(50 * MINUTE);
      world.expect("written once", treeAt(record(world), "revocation").time, confirmed);
      world.change(serviceAccountType, ACCOUNT, { access: "Granted" });
      await world.pass(MINUTE);
      world.expect(
        "no proof of the next revocation",
        treeAt(record(world), "revocation").time,
        undefined,
      );
      bindInConsole(world, [MEMBER, READ]);
      revoke(world);
      await world.pass(MINUTE);
      world.expect("everything is unbound", world.bound, []);
    },
  ),
];
