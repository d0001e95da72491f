/** What the console says: what is believed, what is quoted, and how long it is left alone. */
import { annotations } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { HOUR, MINUTE, SECOND } from "../../../src/util/time.ts";
import { treeAt } from "../../api-server/tree.ts";
import { DEFAULT_CREDENTIALS } from "../../iam-server/seed.ts";
import { ACCOUNT, createBinding, DEPLOY, inNamespace, MEMBER, READ } from "../scenarios.ts";
import { type Story, type StoryWorld, story, unready } from "./story.ts";

const refused = (status: number) => ({ kind: "Refuse", status }) as const;

function callsOfConsole(world: StoryWorld): number {
  return world.sim.journal.calls.filter(({ server }) => server === "iam").length;
}

function orphans(world: StoryWorld): number {
  return world.key().status?.orphaned?.length ?? 0;
}

function reconcile(world: StoryWorld, account: string): void {
  world.annotate(serviceAccountType, account, { [annotations.reconcileRequestedAt]: "now" });
}

export const consoleStories: readonly Story[] = [
  unready("a call that is always answered 401 costs no logins", async (world) => {
    await world.begin();
    const logins = world.calls("login");
    world.fault("syncBindings", refused(401), 1_000);
    world.fault("issueKey", refused(401), 1_000);
    world.rotate("one");
    await world.pass(20 * MINUTE);
    world.expect("few logins", world.calls("login") - logins <= 2);
    world.expect("few calls", world.calls("issueKey") <= 20);
  }),
  story("a response that cannot be read is not quoted with its secret", async (world) => {
    const unreadable = (body: string) => body.replace('"keyId"', '"identifier"');
    world.fault("issueKey", { kind: "Answer", status: 201, body: unreadable });
    await world.begin();
    world.rotate("one");
    await world.expectReady();
    world.expect("the lost key is orphaned", orphans(world), 1);
  }),
  story(
    "a response that quotes the password in other spellings shows none of them",
    async (world) => {
      const { password } = DEFAULT_CREDENTIALS;
      const spelled = Buffer.from(password).toString("base64");
      const body = () =>
        JSON.stringify({ message: `no login with ${password}, that is ${spelled}` });
      world.fault("login", { kind: "Answer", status: 403, body }, 2);
      await world.begin();
      await world.pass(10 * MINUTE);
    },
  ),
  story("a page of the accounts does not prove that one is gone", async (world) => {
    await world.begin();
    const page = () =>
      JSON.stringify({ result: { serviceAccounts: [], pagination: { hasNext: true } } });
    world.fault("listServiceAccounts", { kind: "Answer", status: 200, body: page }, 2);
    world.fault("getServiceAccount", refused(404), 2);
    world.annotate(serviceAccountType, ACCOUNT, { "iam-operator.io/reconcile-requested-at": "1" });
    await world.pass(5 * MINUTE);
    const reasons = world.reasons(serviceAccountType, ACCOUNT);
    world.expect("nothing said it was gone", reasons.includes("ServiceAccountGone"), false);
  }),
  story("a 409 does not prove that no key was issued", async (world) => {
    world.fault("issueKey", { kind: "Answer", status: 409, body: () => "{}" });
    await world.begin();
    await world.expectReady();
    world.expect("two keys were issued", world.issued, 2);
    world.expect("the lost key is orphaned", orphans(world), 1);
  }),
  story(
    "a key whose id no status can name is lost, and the next one is used on request",
    async (world) => {
      const long = (body: string) =>
        body.replace(/"keyId":"[^"]*"/, `"keyId":"${"x".repeat(300)}"`);
      world.fault("issueKey", { kind: "Answer", status: 201, body: long });
      await world.begin();
      world.rotate("one");
      await world.expectReady();
      world.expect("the lost key is orphaned", orphans(world), 1);
      world.expect("the Secret holds the other one", world.secret().keyId, world.live[1]);
    },
  ),
  story(
    "a key that would be two lines in a file is lost, and the next one is used on request",
    async (world) => {
      const broken = (body: string) => body.replace(/"secret":"/, '"secret":"x\\n');
      world.fault("issueKey", { kind: "Answer", status: 201, body: broken });
      await world.begin();
      world.rotate("one");
      await world.expectReady();
      world.expect("the lost key is orphaned", orphans(world), 1);
      world.expect("the Secret holds the other one", world.secret().keyId, world.live[1]);
    },
  ),
  story("calls that need a new token at the same time share one login", async (world) => {
    const names = ["b", "c", "d", "e"];
    await world.begin();
    for (const name of names)
      world.sim.create(serviceAccountType, { metadata: inNamespace(name), spec: {} });
    await world.pass(2 * MINUTE);
    const logins = world.calls("login");
    world.sim.console.world.revokeTokens();
    world.fault("login", { kind: "Slow", ms: SECOND });
    for (const name of names) reconcile(world, name);
    await world.pass(MINUTE);
    world.expect("one login", world.calls("login") - logins, 1);
  }),
  unready("a call that is refused with a new token is not sent a third time", async (world) => {
    await world.begin();
    world.fault("searchActions", refused(401), 1_000);
    world.fault("syncBindings", refused(401), 1_000);
    const before = world.calls("syncBindings");
    world.change(policyBindingType, "reader", { policyIds: [READ] });
    await world.pass(SECOND);
    world.expect("twice at most", world.calls("syncBindings") - before, 2);
  }),
  story("a console that asks to wait is left alone by everything", async (world) => {
    await world.begin();
    for (const name of ["b", "c", "d", "e"])
      world.sim.create(serviceAccountType, { metadata: inNamespace(name), spec: {} });
    await world.pass(2 * MINUTE);
    world.fault("getServiceAccount", { kind: "Refuse", status: 429, retryAfter: 240 });
    for (let waited = 0; waited < 6 && world.sim.faults.struck.size === 0; waited += 1)
      await world.until(() => world.sim.faults.struck.size > 0);
    await world.pass(SECOND);
    const before = callsOfConsole(world);
    await world.pass(235 * SECOND);
    world.expect("no call in the meantime", callsOfConsole(world) - before, 0);
  }),
  story("a console that asks to wait is called for what people do", async (world) => {
    await world.begin();
    world.sim.create(serviceAccountType, { metadata: inNamespace("other"), spec: {} });
    await world.pass(5 * SECOND);
    world.fault("getServiceAccount", { kind: "Refuse", status: 429, retryAfter: 240 });
    reconcile(world, "other");
    await world.pass(2 * SECOND);
    const { reason } = world.condition(serviceAccountType, "other") ?? {};
    world.expect("it asks to wait", reason, "RateLimited");
    createBinding(world.sim, "second", [MEMBER]);
    await world.pass(30 * SECOND);
    const waiting = world.condition(policyBindingType, "second")?.reason;
    world.expect(
      "a new PolicyBinding waits",
      [waiting, world.bound],
      ["RateLimited", [DEPLOY, READ]],
    );
    world.change(policyBindingType, "second", { policyIds: [MEMBER, READ] });
    await world.pass(30 * SECOND);
    world.expect("a changed one goes through", world.bound, [DEPLOY, MEMBER, READ]);
    world.sim.delete(policyBindingType, "second");
    await world.pass(30 * SECOND);
    world.expect("and a deleted one", world.bound, [DEPLOY, READ]);
    world.rotate("one");
    await world.pass(30 * SECOND);
    world.expect("a rotation goes through", world.issued, 2);
  }),
  story(
    "what people do goes through for an account whose own read was told to wait",
    async (world) => {
      await world.begin({ policyIds: [READ] });
      world.fault("getServiceAccount", { kind: "Refuse", status: 429, retryAfter: 240 });
      reconcile(world, ACCOUNT);
      await world.pass(2 * SECOND);
      const { reason } = world.condition(serviceAccountType, ACCOUNT) ?? {};
      world.expect("it asks to wait", reason, "RateLimited");
      world.change(policyBindingType, "reader", { policyIds: [DEPLOY, READ] });
      await world.pass(10 * SECOND);
      world.expect("a changed PolicyBinding goes through", world.bound, [DEPLOY, READ]);
      world.rotate("one");
      await world.pass(10 * SECOND);
      world.expect("a rotation goes through", world.issued, 2);
      world.sim.delete(policyBindingType, "reader");
      await world.pass(10 * SECOND);
      world.expect("and a deletion", world.bound, []);
    },
  ),
  story("a console that is down costs no object its state", async (world) => {
    await world.begin({ policyIds: [READ] });
    await world.pass(MINUTE);
    const secret = world.secret();
    const calls = ["createServiceAccount", "issueKey", "syncBindings"];
    const before = calls.map((call) => world.calls(call));
    for (const operation of ["getServiceAccount", "listBindings", "searchActions", "login"])
      world.fault(operation, { kind: "Reset", when: "BeforeCommit" }, 10_000);
    const objects = [
      [serviceAccountType, ACCOUNT],
      [policyBindingType, "reader"],
      [apiKeyType, "ci"],
    ] as const;
    for (const [type, name] of objects)
      world.annotate(type as ResourceType, name, { [annotations.reconcileRequestedAt]: "1" });
    await world.pass(5 * MINUTE);
    world.expect("the pair is there", world.secret(), secret);
    world.expect("the key is Ready", world.condition(apiKeyType, "ci")?.status, "True");
    const meanwhile = treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status");
    world.expect("no answer yet", meanwhile.lastHandledReconcileAt, undefined);
    world.cease();
    await world.pass(10 * MINUTE);
    for (const [type, name] of objects) {
      const { lastHandledReconcileAt } = treeAt(
        world.sim.get(type as ResourceType, name) ?? {},
        "status",
      );
      world.expect(`${name} answers`, lastHandledReconcileAt, "1");
    }
    const after = calls.map((call) => world.calls(call));
    world.expect("nothing is made twice", after, before);
  }),
  story("a request is answered by a refusal that only a person ends", async (world) => {
    await world.begin();
    await world.pass(MINUTE);
    world.fault("getServiceAccount", { kind: "Refuse", status: 403 }, 10_000);
    reconcile(world, ACCOUNT);
    await world.pass(10 * SECOND);
    const status = treeAt(world.sim.get(serviceAccountType, ACCOUNT) ?? {}, "status");
    world.expect("it answers", status.lastHandledReconcileAt, "now");
    const ready = world.condition(serviceAccountType, ACCOUNT);
    world.expect("the refusal is told", ready?.reason, "PermissionDenied");
    world.cease();
    await world.pass(HOUR);
  }),
  story("a refused list of policies answers a request at the PolicyBinding", async (world) => {
    await world.begin({ policyIds: [READ] });
    await world.pass(MINUTE);
    world.fault("listBindings", { kind: "Refuse", status: 403 }, 10_000);
    const requested = { [annotations.reconcileRequestedAt]: "now" };
    world.annotate(policyBindingType, "reader", requested);
    await world.pass(10 * SECOND);
    const status = treeAt(world.sim.get(policyBindingType, "reader") ?? {}, "status");
    const ready = world.condition(policyBindingType, "reader");
    world.expect(
      "it answers with the refusal",
      [status.lastHandledReconcileAt, ready?.reason],
      ["now", "PermissionDenied"],
    );
    world.cease();
    await world.pass(6 * MINUTE);
    const after = world.condition(policyBindingType, "reader");
    world.expect("it is tried again after five minutes", after?.status, "True");
  }),
  story("a token that has expired is renewed once, and nothing fails", async (world) => {
    await world.begin();
    await world.pass(MINUTE);
    const [logins, reads] = [world.calls("login"), world.calls("getServiceAccount")];
    world.sim.console.world.revokeTokens();
    reconcile(world, ACCOUNT);
    await world.pass(10 * SECOND);
    world.expect("one login", world.calls("login") - logins, 1);
    world.expect("the read is repeated once", world.calls("getServiceAccount") - reads, 2);
    const reasons = world.reasons(serviceAccountType, ACCOUNT);
    world.expect("nothing fails", reasons.includes("Unauthenticated"), false);
  }),
];
