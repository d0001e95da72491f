/** A gateway answers a call with success and does not pass it on, while every read passes: only reads are believed. */
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, parseInstant, SECOND } from "../../../src/util/time.ts";
import { treeAt } from "../../api-server/tree.ts";
import { INTERCEPTIONS } from "../../server-fault.ts";
import { extraCalls } from "../scenarios/console.ts";
import { ACCOUNT, MEMBER, READ } from "../scenarios.ts";
import { bindInConsole, withdrawn } from "./in-console.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const deleting = {
  ...extraCalls,
  deleteServiceAccount: { method: "DELETE", path: "/api/v1/x/accounts/{saId}" },
} as const;
const ALWAYS = 10_000;
/** These pass for an answer of the console. */
const PLAUSIBLE: ReadonlySet<string> = new Set(["ErrorEnvelope", "OtherForm", "Empty"]);

const revoke = (world: StoryWorld) =>
  world.change(serviceAccountType, ACCOUNT, { access: "Revoked" });
const revoked = (world: StoryWorld) =>
  world.condition(serviceAccountType, ACCOUNT, "AccessRevoked");

/** While time passes, the condition is never True before the console has no policy bound. */
async function passUnrevoked(world: StoryWorld, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += SECOND) {
    await world.pass(SECOND);
    if (world.bound.length > 0) world.expect("not revoked", revoked(world)?.status !== "True");
  }
}

const notAppliedSince = (world: StoryWorld) =>
  parseInstant(/reads since (\S+) show/.exec(revoked(world)?.message ?? "")?.[1]);

const statesOf = (world: StoryWorld) =>
  (world.key().status?.superseded ?? []).map(({ state }) => state);

const says = (world: StoryWorld, name: string, reason: string) =>
  world.events(name).filter((each) => each.startsWith(`${reason}:`)).length;

const revocationAfterDoubt = withdrawn(
  "what reads showed before access was revoked is not told of the revocation",
  async (world) => {
    await world.begin({ policyIds: [READ] });
    world.fault("syncBindings", { kind: "Intercept", how: "ErrorEnvelope" }, ALWAYS);
    world.change(policyBindingType, "reader", { policyIds: [READ, MEMBER] });
    await world.pass(MINUTE);
    world.expect("it is not bound", says(world, ACCOUNT, "ChangeNotApplied"), 1);
    const { now } = world.sim.kernel;
    world.fault("listBindings", { kind: "Refuse", status: 503 }, 3);
    revoke(world);
    await world.pass(2 * SECOND);
    world.expect("no read has shown more yet", revoked(world)?.reason, "RevokingAccess");
    await world.pass(5 * MINUTE);
    world.expect("then reads show it", revoked(world)?.reason, "ChangeNotApplied");
    world.expect(
      "since the request",
      (notAppliedSince(world) ?? 0) >= Math.floor(now / SECOND) * SECOND,
    );
  },
);

const interceptedStories: readonly Story[] = INTERCEPTIONS.flatMap((how) => {
  const fault = { kind: "Intercept", how } as const;
  return [
    withdrawn(
      `access is not revoked by an answer that no read confirms (${how}), and is revoked soon after`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        world.fault("syncBindings", fault, ALWAYS);
        revoke(world);
        await passUnrevoked(world, 3 * MINUTE);
        world.expect("still bound", world.bound, [READ]);
        const reason = PLAUSIBLE.has(how) ? "ChangeNotApplied" : "RevokingAccess";
        world.expect(
          "it says why",
          [revoked(world)?.status, revoked(world)?.reason],
          ["False", reason],
        );
        world.expect(
          "told once",
          says(world, ACCOUNT, "ChangeNotApplied"),
          PLAUSIBLE.has(how) ? 1 : 0,
        );
        world.expect("tried, within limits", world.calls("syncBindings") <= 63);
        world.cease();
        await passUnrevoked(world, 2 * MINUTE);
        world.expect("revoked", [world.bound, revoked(world)?.status], [[], "True"]);
      },
    ),
    story(`a policy is not bound by an answer that no read confirms (${how})`, async (world) => {
      await world.begin({ policyIds: [READ] });
      world.fault("syncBindings", fault, ALWAYS);
      world.change(policyBindingType, "reader", { policyIds: [READ, MEMBER] });
      await world.pass(2 * MINUTE);
      const { status, reason } = world.condition(policyBindingType, "reader") ?? {};
      const expected = PLAUSIBLE.has(how) ? "ChangeNotApplied" : "MalformedResponse";
      world.expect("not synced", [status, reason], ["False", expected]);
      const { policyCount } = treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status");
      world.expect("what a read has shown is counted", policyCount, 1);
      world.expect(
        "no event says so",
        world
          .events(ACCOUNT)
          .some((each) => each.includes(MEMBER) && each.startsWith("PoliciesSynced")),
        false,
      );
      world.cease();
      await world.pass(5 * MINUTE);
      world.expect("bound in the end", world.bound, [MEMBER, READ]);
    }),
    unready(
      `a deleted PolicyBinding is not said to be unbound if no read confirms it (${how})`,
      async (world) => {
        await world.begin({ policyIds: [READ] });
        world.fault("syncBindings", fault, ALWAYS);
        world.sim.delete(policyBindingType, "reader");
        await world.pass(5 * MINUTE);
        world.expect("it stays", world.sim.get(policyBindingType, "reader") !== undefined);
        await world.pass(30 * MINUTE);
        world.expect("it goes", world.sim.get(policyBindingType, "reader"), undefined);
        world.expect("what is left is told", says(world, "reader", "PoliciesNotRevoked"), 1);
        world.cease();
        await world.pass(11 * MINUTE);
        world.expect("and unbound later", world.bound, []);
      },
    ),
    ...(["Revoke", "Delete"] as const).map((deletionPolicy) =>
      unready(
        `a deleted ServiceAccount (${deletionPolicy}) is not said to be cleaned up if no read confirms it (${how})`,
        async (world) => {
          await world.begin({
            connection: { extraCalls: deleting },
            account: { deletionPolicy },
          });
          world.sim.delete(apiKeyType, "ci");
          world.sim.delete(policyBindingType, "reader");
          await world.pass(MINUTE);
          bindInConsole(world, [MEMBER]);
          world.fault("syncBindings", fault, ALWAYS);
          world.fault("deleteServiceAccount", fault, ALWAYS);
          world.sim.delete(serviceAccountType, ACCOUNT);
          await world.pass(5 * MINUTE);
          world.expect("it stays", world.sim.get(serviceAccountType, ACCOUNT) !== undefined);
          await world.pass(25 * MINUTE);
          world.expect("it goes", world.sim.get(serviceAccountType, ACCOUNT), undefined);
          world.expect("it says that it gave up", says(world, ACCOUNT, "CleanupIncomplete"), 1);
          for (const reason of ["Revoked", "Deleted", "Released"])
            world.expect(`and nothing else: ${reason}`, says(world, ACCOUNT, reason), 0);
        },
        { console: { extraCalls: deleting } },
      ),
    ),
    ...(["disableKey", "deleteKey"] as const).map((call) =>
      story(
        `an old key is not said to be ended if no read confirms it (${call}, ${how})`,
        async (world) => {
          await world.begin({ connection: { extraCalls: { [call]: extraCalls[call] } } });
          const [first = ""] = world.live;
          world.rotate("one");
          await world.pass(4 * MINUTE);
          world.fault(call, fault, ALWAYS);
          await world.pass(10 * MINUTE);
          world.expect("it works", world.live.includes(first));
          world.expect("and is listed as live", statesOf(world), ["Live"]);
          for (const reason of ["KeyDisabled", "KeyDeleted"])
            world.expect(`no event says so: ${reason}`, says(world, "ci", reason), 0);
          const reason = PLAUSIBLE.has(how) ? "ChangeNotApplied" : "MalformedResponse";
          world.expect("it says why", world.condition(apiKeyType, "ci")?.reason, reason);
          world.expect("tried, within limits", world.calls(call) <= 30);
          world.cease();
          await world.pass(10 * MINUTE);
          world.expect("ended in the end", world.live.includes(first), false);
          const state = call === "disableKey" ? "Disabled" : "Deleted";
          world.expect("and said so", statesOf(world), [state]);
        },
        { console: { extraCalls } },
      ),
    ),
  ];
});

/** A console that lists no keys, or no states of keys. */
const blindStories = (["omitted", "empty"] as const).map((keyRecords) =>
  story(
    `that an old key is ended is unknown if the console does not show it (${keyRecords})`,
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      world.rotate("one");
      await world.pass(4 * MINUTE);
      world.fault("deleteKey", { kind: "Intercept", how: "Empty" }, ALWAYS);
      await world.pass(4 * MINUTE);
      world.expect("unknown", statesOf(world), ["Unknown"]);
      await world.pass(HOUR);
      world.expect("not tried for ever", world.calls("disableKey") + world.calls("deleteKey") <= 2);
      world.expect("told", says(world, "ci", "OutcomeUnconfirmed") > 0);
    },
    { console: { extraCalls, shapes: { keyRecords } } },
  ),
);

/** Only the pair's owner gets a documented rejection; a gateway's 403 shows nothing. */
const gatewayStories = [403, 422].map((status) =>
  story(
    `an old key stays while nothing but a gateway answers for the new one (${status})`,
    async (world) => {
      await world.begin({ connection: { extraCalls } });
      const [first = ""] = world.live;
      world.rotate("one");
      await world.pass(4 * MINUTE);
      world.fault("searchActions", { kind: "Refuse", status, message: "blocked" }, ALWAYS);
      await world.pass(30 * MINUTE);
      world.expect("it works", world.live.includes(first));
      world.expect("nothing ends", world.calls("disableKey") + world.calls("deleteKey"), 0);
      const { status: is, reason, message = "" } = world.condition(apiKeyType, "ci") ?? {};
      world.expect("it says why", [is, reason], ["True", "MalformedResponse"]);
      world.expect("in words", message.includes("may come from a gateway"));
      world.cease();
      await world.pass(10 * MINUTE);
      world.expect("ended in the end", world.live.includes(first), false);
    },
    { console: { extraCalls } },
  ),
);

/** A login that may submit policies but not list them. */
const unreadable = unready(
  "a deleted ServiceAccount is not said to be revoked if the login may not list policies",
  async (world) => {
    await world.begin({ policyIds: [READ], account: { deletionPolicy: "Revoke" } });
    world.sim.delete(apiKeyType, "ci");
    world.sim.delete(policyBindingType, "reader");
    await world.pass(MINUTE);
    bindInConsole(world, [MEMBER]);
    const fault = { kind: "Refuse", status: 403, message: "listing is not allowed" } as const;
    world.fault("listBindings", fault, ALWAYS);
    world.sim.delete(serviceAccountType, ACCOUNT);
    await world.pass(5 * MINUTE);
    world.expect("it goes", world.sim.get(serviceAccountType, ACCOUNT), undefined);
    world.expect("nothing is bound", world.bound, []);
    world.expect("the outcome is open", says(world, ACCOUNT, "OutcomeUnconfirmed"), 1);
    world.expect("and nothing else is said", says(world, ACCOUNT, "Revoked"), 0);
  },
);

export const evidenceStories = [
  ...interceptedStories,
  ...blindStories,
  ...gatewayStories,
  revocationAfterDoubt,
  unreadable,
];
