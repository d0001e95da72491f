/** Two replicas: who may write, and when. */
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { createAll, createKey } from "../scenarios.ts";
import { type Story, type StoryWorld, storyWith } from "./story.ts";

const elected = storyWith({ flags: [] });

async function beginTwice(world: StoryWorld): Promise<void> {
  world.sim.startOperator("a");
  world.sim.startOperator("b");
  createAll(world.sim);
  await world.pass(2 * MINUTE);
}

/** Something to write at any time: a rotation every half second. */
async function rotateOften(world: StoryWorld, ms: number): Promise<void> {
  for (let waited = 0; waited < ms; waited += SECOND / 2) {
    world.rotate(`at ${waited}`);
    await world.pass(SECOND / 2);
  }
}

export const leaderStories: readonly Story[] = [
  elected("a leader that cannot renew its lease stops writing in time", async (world) => {
    await beginTwice(world);
    for (const operation of ["patch leases", "replace leases", "apply leases", "get leases"])
      world.fault(operation, { kind: "Silence", when: "BeforeCommit" }, 8);
    await rotateOften(world, 20 * SECOND);
    await world.pass(10 * MINUTE);
  }),
  elected("a lease counts from before its renewal was sent", async (world) => {
    await beginTwice(world);
    for (const operation of ["patch leases", "replace leases", "apply leases"]) {
      world.fault(operation, { kind: "Slow", ms: 2 * SECOND }, 1);
      world.fault(operation, { kind: "Silence", when: "BeforeCommit" }, 8);
    }
    await rotateOften(world, 20 * SECOND);
    await world.pass(10 * MINUTE);
  }),
  elected("a deleted lease makes no two replicas write", async (world) => {
    await beginTwice(world);
    for (let time = 0; time < 4; time += 1) {
      world.happens({ kind: "DeleteLease" });
      await rotateOften(world, 4 * SECOND);
    }
    await world.pass(10 * MINUTE);
  }),
  elected("a leader that was stopped for a while writes nothing late", async (world) => {
    await beginTwice(world);
    world.rotate("one");
    await world.pass(SECOND / 10);
    world.happens({ kind: "PauseLeader", ms: 30 * SECOND });
    await world.pass(10 * MINUTE);
  }),
  elected("a leader that was stopped just before a call does not send it late", async (world) => {
    await beginTwice(world);
    world.fault("issueKey", { kind: "Pause", when: "BeforeSend", ms: 30 * SECOND });
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("two keys were issued", world.issued, 2);
  }),
  elected(
    "a key of a deleted ApiKey counts for the next leader, too",
    async (world) => {
      const namespaces = { names: ["team-a"] };
      const grants = [{ name: "all", namespaces, policyIds: ["*"], maxIssuesPerDay: 2 }];
      await world.begin({ connection: { grants } });
      createKey(world.sim, "other");
      await world.pass(MINUTE);
      world.sim.delete(apiKeyType, "other");
      await world.pass(MINUTE);
      world.expect("two keys were issued", world.issued, 2);
      world.happens({ kind: "Kill" });
      createKey(world.sim, "third");
      await world.pass(3 * MINUTE);
      world.expect("and no third one", world.issued, 2);
      const said = world.reasons(apiKeyType, "third");
      world.expect("for a reason", said.includes("NamespaceBudgetExceeded"), true);
    },
    { endsReady: false },
  ),
];
