/** Responses to calls that cannot be repeated safely, which were received and cannot be read. */
import { annotations } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import {
  apiKeyType,
  clusterConnectionType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { CallFault } from "../faults.ts";
import { ACCOUNT } from "../scenarios.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const answer = (body: (body: string) => string, status?: number): CallFault => ({
  kind: "Answer",
  body,
  ...(status === undefined ? {} : { status }),
});

interface Unreadable {
  readonly name: string;
  readonly fault: CallFault;
  /** What the condition says of it. */
  readonly says: string;
  readonly ofAccount?: string;
}

const unreadable: readonly Unreadable[] = [
  { name: "a page with 201", fault: answer(() => "<html>ok</html>", 201), says: "not JSON" },
  { name: "a page with 200", fault: answer(() => "<html>ok</html>", 200), says: "status 200" },
  { name: "202 without a body", fault: answer(() => "", 202), says: "status 202" },
  { name: "204", fault: answer(() => "", 204), says: "status 204" },
  {
    name: "another form",
    fault: answer(() => '{"data":[{"id":7}]}'),
    says: "lacks",
    ofAccount: "without saId",
  },
  {
    name: "a compression that is not known",
    fault: {
      kind: "Answer",
      headers: { "content-encoding": "zstd", "content-type": "application/json" },
      body: (body) => `zstd of ${body.length} bytes`,
    },
    says: "application/json, content encoding zstd",
  },
  {
    name: "a body that is too large",
    fault: { kind: "Huge" },
    says: "was answered, but cannot be read",
  },
  {
    name: "a redirect",
    fault: { kind: "Answer", status: 303, headers: { location: "/keys" }, body: "" },
    says: "a redirect",
  },
];

const brokenSecret: Unreadable = {
  name: "a secret with a line break",
  fault: answer((body) => body.replace(/"secret":"(.{20})/, '"secret":"$1\\n')),
  says: "not a single line",
};

function request(world: StoryWorld, type: ResourceType, name: string, token: string): void {
  world.annotate(type, name, { [annotations.reconcileRequestedAt]: token });
}

function issuanceOf(world: StoryWorld) {
  return world.condition(apiKeyType, "ci", "IssuanceAllowed");
}

function expectStopped(world: StoryWorld, { says }: Unreadable, issued: number): void {
  const { reason, message = "" } = issuanceOf(world) ?? {};
  world.expect("keys", world.issued, issued);
  world.expect("the reason", reason, "UnreadableResponse");
  world.expect(`the message has "${says}"`, message.includes(says) || message);
}

function expectEvent(world: StoryWorld, name: string, says: string): void {
  const told = world.events(name).filter((event) => event.startsWith("UnreadableResponse:"));
  world.expect("an event tells the cause", told.some((event) => event.includes(says)) || told);
}

const keyStories = [...unreadable, brokenSecret].map((row) =>
  story(
    `a key whose response is ${row.name} is the only one until somebody asks`,
    async (world) => {
      world.fault("issueKey", row.fault, 2);
      await world.begin();
      await world.pass(2 * HOUR);
      expectStopped(world, row, 1);
      world.expect("it is orphaned", world.key().status?.orphaned?.length, 1);
      world.expect("Ready", world.condition(apiKeyType, "ci")?.reason, "UnreadableResponse");
      world.expect("Stalled", world.condition(apiKeyType, "ci", "Stalled")?.status, "True");
      request(world, apiKeyType, "ci", "one");
      await world.pass(2 * HOUR);
      expectStopped(world, row, 2);
      request(world, apiKeyType, "ci", "two");
      await world.pass(MINUTE);
      world.expect("then it is issued", world.issued, 3);
    },
  ),
);

const accountStories = unreadable.map((row) =>
  unready(
    `an account whose response is ${row.name} is the only one until somebody asks`,
    async (world) => {
      world.fault("createServiceAccount", row.fault, 2);
      // No list shows the account, so nothing explains the attempt.
      world.fault("listServiceAccounts", answer(NO_ACCOUNTS, 200), 10_000);
      await world.begin();
      expectEvent(world, ACCOUNT, row.ofAccount ?? row.says);
      await world.pass(2 * HOUR);
      const { reason, message = "" } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      const { says, ofAccount = says } = row;
      world.expect("one call", world.calls("createServiceAccount"), 1);
      world.expect("the reason", reason, "UnreadableResponse");
      world.expect("the cause", message.includes(ofAccount) || message);
      request(world, serviceAccountType, ACCOUNT, "one");
      await world.pass(2 * HOUR);
      world.expect("one more call", world.calls("createServiceAccount"), 2);
    },
  ),
);

function NO_ACCOUNTS(): string {
  return JSON.stringify({ requestId: "r-1", result: { data: [], dataCount: 0 } });
}

export const unreadableResponseStories: readonly Story[] = [
  ...keyStories,
  ...accountStories,
  story("an account whose response cannot be read is used if a list shows it", async (world) => {
    world.fault(
      "createServiceAccount",
      answer(() => "<html>", 201),
    );
    await world.begin();
    await world.pass(MINUTE);
    world.expect("one account", world.sim.console.world.accounts.size, 1);
  }),
  story("a changed connection has a call with an unreadable response made again", async (world) => {
    world.fault(
      "issueKey",
      answer(() => "<html>", 201),
    );
    await world.begin();
    await world.pass(10 * MINUTE);
    world.change(clusterConnectionType, "default", { accountPollInterval: "7m" });
    await world.pass(10 * MINUTE);
    world.expect("how often accounts are read does not matter", world.issued, 1);
    world.change(clusterConnectionType, "default", { limits: { timeout: "14s" } });
    await world.pass(2 * MINUTE);
    world.expect("another key", world.issued, 2);
  }),
  story("a restart does not repeat a call with an unreadable response", async (world) => {
    world.fault(
      "issueKey",
      answer(() => "<html>", 201),
    );
    await world.begin();
    await world.pass(10 * MINUTE);
    world.sim.stopOperator();
    await world.pass(10 * SECOND);
    world.sim.startOperator();
    await world.pass(HOUR);
    world.expect("one key", world.issued, 1);
    world.rotate("one");
    await world.pass(MINUTE);
    world.expect("a rotation is requested", world.issued, 2);
  }),
  story("a rotation whose response cannot be read leaves the key in use", async (world) => {
    await world.begin();
    world.fault(
      "issueKey",
      answer(() => "<html>", 201),
    );
    world.rotate("one");
    await world.pass(HOUR);
    const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("it is Ready, and says so", [status, reason], ["True", "UnreadableResponse"]);
    world.expect("two keys", world.issued, 2);
    request(world, apiKeyType, "ci", "one");
    await world.pass(MINUTE);
    world.expect("the rotation is done", world.issued, 3);
  }),
  story("a pair one level deeper is read", async (world) => {
    const body = (plain: string) =>
      JSON.stringify({ requestId: "r-1", result: { apiKey: JSON.parse(plain) } });
    world.fault("issueKey", answer(body));
    await world.begin();
    world.expect("one key", world.issued, 1);
  }),
];
