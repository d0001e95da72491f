/** Issuing: what becomes of the key when a call, a process or a write goes wrong. */

import { annotations } from "../../../src/api/meta.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import { attemptId } from "../../../src/resources/marker.ts";
import { apiKeyType, serviceAccountType } from "../../../src/resources/resource-types.ts";
import { DAY, HOUR, MINUTE, parseInstant, SECOND } from "../../../src/util/time.ts";
import { forbidden } from "../../api-server/failure.ts";
import { textAt, treeAt } from "../../api-server/tree.ts";
import { ACCOUNT, createKey, inNamespace } from "../scenarios.ts";
import { granting } from "./in-console.ts";
import { type Story, type StoryWorld, story, storyWith, unready } from "./story.ts";

const long = storyWith({ isLong: true });
const LOST = { kind: "Reset", when: "AfterCommit" } as const;
const refused = (status: number) => ({ kind: "Refuse", status }) as const;

function orphans(world: StoryWorld, name = "ci"): number {
  return world.key(name).status?.orphaned?.length ?? 0;
}

/** Keys that count for maxIssuesPerDay. */
function counted(world: StoryWorld): number {
  const recent = world.key().status?.recentIssues ?? [];
  return recent.filter(({ requested }) => requested !== true).length;
}

/** The account has keys of two ApiKeys. */
async function beginWithTwo(world: StoryWorld): Promise<void> {
  await world.begin();
  createKey(world.sim, "other");
  await world.pass(MINUTE);
}

function rotateBoth(world: StoryWorld): void {
  for (const name of ["ci", "other"]) world.rotate("one", name);
}

/** Whether another key may be issued. */
function allowanceOf(world: StoryWorld): string {
  const { status, reason } = world.condition(apiKeyType, "ci", "IssuanceAllowed") ?? {};
  return `${status} ${reason}`;
}

async function deleteSecretAndWait(world: StoryWorld, ms = 7 * MINUTE): Promise<void> {
  world.happens({ kind: "DeleteSecret" });
  await world.pass(ms);
}

function intentOf(world: StoryWorld): string | null {
  const object = world.sim.get(apiKeyType, "ci") ?? {};
  return textAt(treeAt(treeAt(object, "metadata"), "annotations"), annotations.intent) ?? null;
}

function setIntent(world: StoryWorld, text: string | null): void {
  world.sim.meddle(() => world.annotate(apiKeyType, "ci", { [annotations.intent]: text }));
}

function reconcile(world: StoryWorld): void {
  const now = String(world.sim.kernel.elapsed);
  world.annotate(apiKeyType, "ci", { [annotations.reconcileRequestedAt]: now });
}

/** Writes of ApiKeys and Secrets, and issues, in the order in which they were sent. */
function writes(world: StoryWorld): readonly string[] {
  return world.sim.journal.calls
    .map(({ operation }) => operation)
    .filter((operation) => /^(issueKey|\w+ (apikeys|secrets)(\/status)?)$/.test(operation))
    .filter((operation) => !/^(get|list|watch) /.test(operation));
}

/** Whether the intent is open, and the status does not tell of it yet. */
function storedAttempt(world: StoryWorld): boolean {
  const { attempt } = treeAt(world.sim.get(apiKeyType, "ci") ?? {}, "status");
  return attempt === undefined && world.key().status?.attempt !== undefined;
}

export const keyStories: readonly Story[] = [
  story("a status of a failed run that is stored late is soon replaced", async (world) => {
    await world.begin();
    const deletions = world.calls("delete secrets");
    const late = { kind: "LateCommit", ms: 25 * SECOND } as const;
    world.fault("delete secrets", late);
    world.rotate("one");
    await world.until(() => world.calls("delete secrets") > deletions);
    world.fault("apply apikeys/status", late);
    const reason = () => world.condition(apiKeyType, "ci")?.reason;
    await world.until(() => reason() === "Timeout");
    world.expect("the late one is stored", reason(), "Timeout");
    await world.pass(MINUTE + 5 * SECOND);
    world.expect("it is gone", reason(), "KeyDelivered");
    const writes = world.calls("apply apikeys/status");
    await world.pass(HOUR);
    world.expect("nothing more is written", world.calls("apply apikeys/status"), writes);
  }),
  story("a new ApiKey gets one key, in this order, and then there is rest", async (world) => {
    await world.begin();
    const made = [
      "patch apikeys",
      "issueKey",
      "create secrets",
      "create secrets",
      "apply apikeys/status",
      "delete secrets",
    ];
    world.expect("the writes", writes(world), made);
    const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("it is Ready", [status, reason], ["True", "KeyDelivered"]);
    world.expect("nothing is said before", world.reasons(apiKeyType, "ci"), ["KeyDelivered"]);
    await world.pass(HOUR);
    world.expect("no write more", writes(world), made);
  }),
  story("a key is not reported on before its new account had its turn", async (world) => {
    world.fault("createServiceAccount", { kind: "Slow", ms: 2 * SECOND });
    await world.begin();
    world.expect("nothing is said before", world.reasons(apiKeyType, "ci"), ["KeyDelivered"]);
  }),
  unready("that a key's new account has failed is reported at once", async (world) => {
    world.fault("createServiceAccount", refused(422), 100);
    await world.begin();
    const reason = world.condition(apiKeyType, "ci")?.reason;
    world.expect("the reason", reason, "ServiceAccountNotReady");
  }),
  story("a lost status is read back without a call", async (world) => {
    await world.begin();
    world.rotate("one");
    await world.pass(MINUTE);
    world.happens({ kind: "WipeStatus", plural: "apikeys" });
    world.happens({ kind: "Kill" });
    await world.pass(MINUTE);
    const { current } = world.key().status ?? {};
    world.expect("the key in use", [current?.keyId, current?.revision], [world.live[1], 2]);
    world.expect("two keys were issued", world.issued, 2);
  }),
  story("a key that its Secret still holds is taken from there", async (world) => {
    world.fault("delete secrets", { kind: "Slow", ms: SECOND });
    await world.begin();
    setIntent(world, null);
    world.happens({ kind: "WipeStatus", plural: "apikeys" });
    await world.pass(MINUTE);
    const { current, orphaned } = world.key().status ?? {};
    world.expect("the key in use", current?.keyId, world.live[0]);
    world.expect("nothing is orphaned", orphaned ?? [], []);
    world.expect("one key was issued", world.issued, 1);
  }),
  story("an intent that could not be written holds up no other ApiKey", async (world) => {
    world.fault("patch apikeys", refused(403));
    await world.begin();
    createKey(world.sim, "other");
    await world.pass(5 * SECOND);
    world.expect("it has a key", world.live.includes(world.secret("other").keyId ?? ""));
  }),
  story("pairs are written at the shutdown, even if one cannot be written", async (world) => {
    await beginWithTwo(world);
    world.fault("create secrets", refused(500), 4);
    rotateBoth(world);
    await world.until(() => world.calls("issueKey") === 4);
    const { admission } = world.sim.kube;
    admission.push((_, object) => {
      if (treeAt(object, "metadata").name === "ci-next") throw forbidden("not this one");
    });
    world.happens({ kind: "Stop" });
    await world.pass(MINUTE);
    admission.pop();
    await world.pass(5 * MINUTE);
    world.expect("only one was lost", world.issued, 5);
    world.expect("which is orphaned", [orphans(world), orphans(world, "other")], [1, 0]);
  }),
  story("a pair whose write was not answered is not kept any longer", async (world) => {
    world.fault("searchActions", refused(401), 4);
    world.fault("create secrets", LOST);
    await world.begin();
    world.happens({ kind: "Stop" });
    await world.pass(MINUTE);
    const isLost = world.sim.logs.some((line) => line.includes("issued keys are lost"));
    world.expect("the shutdown does not miss it", isLost, false);
    world.expect("one key was issued", world.issued, 1);
  }),
  story("a pair outlives an ApiKey that only seems gone", async (world) => {
    world.strikeWatch("apikeys", { kind: "Torn", nth: 2 });
    world.strikeWatch("apikeys", { kind: "Expired" }, 2);
    world.strikeWatch("apikeys", { kind: "Stale", revisions: 100, ms: 5 * SECOND }, 3);
    world.fault("create secrets", refused(500), 5);
    await world.begin();
    world.expect("one key was issued", world.issued, 1);
    world.expect("it is in the Secret", world.secret().keyId, world.live[0]);
  }),
  story(
    "a new key that is never accepted is given up after an hour, and the old one stays",
    async (world) => {
      await world.begin();
      const [first] = world.live;
      world.fault("searchActions", refused(401), 10_000);
      world.rotate("one");
      await world.pass(59 * MINUTE);
      world.expect("the old one is in use", world.secret().keyId, first);
      const { status, reason } = world.condition(apiKeyType, "ci", "Verified") ?? {};
      world.expect("it is reported", [status, reason], ["False", "VerificationFailed"]);
      world.expect("two keys were issued", world.issued, 2);
      await world.pass(2 * MINUTE);
      world.expect("then another one", world.issued, 3);
      world.cease();
      await world.pass(MINUTE);
      const blamed = world.key().status?.orphaned?.map(({ keyId }) => keyId);
      world.expect("it is orphaned", blamed, [world.live[1]]);
      world.expect("the next one is in use", world.secret().keyId, world.live[2]);
    },
  ),
  unready(
    "a pair without an attempt that is never accepted is given up as well",
    async (world) => {
      world.fault("searchActions", refused(401), 10_000);
      await world.begin();
      const id = world.key().status?.attempt?.id;
      setIntent(world, null);
      world.sim.meddle(() =>
        world.sim.patch(apiKeyType, "ci", { status: { attempt: null } }, "status"),
      );
      await world.pass(61 * MINUTE);
      const [lost] = world.key().status?.orphaned ?? [];
      world.expect("it is orphaned", [lost?.keyId, lost?.attemptId], [world.live[0], id]);
    },
    { excuses: ["pending removed"] },
  ),
  story("keys that two lost responses have lost are listed once", async (world) => {
    await beginWithTwo(world);
    world.fault("issueKey", LOST, 2);
    rotateBoth(world);
    await world.pass(5 * MINUTE);
    const listed = ["ci", "other"].flatMap((name) =>
      (world.key(name).status?.orphaned ?? []).map(({ keyId }) => keyId),
    );
    world.expect("two keys", [listed.length, new Set(listed).size], [2, 2]);
  }),
  story("a lost response costs one key, which is listed", async (world) => {
    world.fault("issueKey", LOST);
    await world.begin();
    world.expect("the lost key is orphaned soon", orphans(world), 1);
    await world.expectReady();
    world.expect("two keys were issued", world.issued, 2);
    const [lost = ""] = world.live;
    const told = world.events("ci").find((each) => each.startsWith("KeyOrphaned")) ?? "";
    world.expect("an event names it", told.includes(lost));
  }),
  story(
    "a key whose pending Secret was deleted is listed, with that cause",
    async (world) => {
      await world.begin();
      world.fault("searchActions", refused(503), 10_000);
      world.rotate("one");
      await world.pass(30 * SECOND);
      world.sim.delete(secretType, "ci-next");
      world.cease();
      await world.pass(5 * MINUTE);
      const told = world.events("ci").find((each) => each.startsWith("KeyOrphaned")) ?? "";
      const [, lost = "none", next] = world.live;
      world.expect("the event", told.includes(`or the Secret was deleted: ${lost}`));
      world.expect("the next key is in use", world.secret().keyId, next);
    },
    { excuses: ["pending removed"] },
  ),
  story("a gateway forwards issueKey and answers 502", async (world) => {
    world.fault("issueKey", { kind: "LateCommit", ms: 2 * SECOND, status: 502 });
    await world.begin();
    await world.expectReady();
    world.expect("two keys were issued", world.issued, 2);
    world.expect("the lost key is orphaned", orphans(world), 1);
  }),
  story("a rejected issueKey is tried again and counts once", async (world) => {
    world.fault("issueKey", refused(429), 2);
    await world.begin();
    await world.expectReady();
    world.expect("one key was issued", world.issued, 1);
    world.expect("nothing is orphaned", orphans(world), 0);
    world.expect("only the issue counts", counted(world), 1);
  }),
  unready(
    "a refused issueKey is reported with the console's words and costs no budget",
    async (world) => {
      world.fault("issueKey", refused(422), 100);
      await world.begin();
      world.expect("nothing counts", counted(world), 0);
      world.expect("no attempt is open", world.key().status?.attempt, undefined);
      const stalled = world.condition(apiKeyType, "ci", "Stalled");
      world.expect("the reason", stalled?.reason, "InvalidArgument");
    },
  ),
  story("the operator dies with a key that no Secret holds", async (world) => {
    world.fault("issueKey", { kind: "Crash", when: "AfterCommit" });
    await world.begin();
    await world.expectReady();
    world.expect("the lost key is orphaned", orphans(world), 1);
    world.expect("the Secret holds the other one", world.secret().keyId, world.live[1]);
  }),
  story("a Secret that cannot be written is found out before any key is issued", async (world) => {
    world.fault("create secrets (dry run)", refused(403), 100);
    await world.begin();
    world.expect("no key was issued", world.issued, 0);
    const { status, reason } = world.condition(apiKeyType, "ci") ?? {};
    world.expect("the ApiKey says so", [status, reason], ["False", "SecretRejected"]);
  }),
  story("a pair that could not be written is kept in memory", async (world) => {
    world.fault("create secrets", refused(500), 3);
    await world.begin();
    await world.expectReady();
    world.expect("one key was issued", world.issued, 1);
    world.expect("one call was made", world.calls("issueKey"), 1);
  }),
  story("somebody changes the ApiKey just before the intent is written", async (world) => {
    await world.begin();
    world.fault("patch apikeys", { kind: "Slow", ms: 2 * SECOND });
    world.rotate("one");
    await world.pass(SECOND);
    world.change(apiKeyType, "ci", { suspend: true });
    await world.pass(MINUTE);
    world.expect("a suspended ApiKey gets no key", world.issued, 1);
    world.change(apiKeyType, "ci", { suspend: false });
  }),
  story("somebody takes the intent off while the operator is dead", async (world) => {
    await world.begin();
    world.fault("issueKey", { kind: "Crash", when: "AfterCommit" });
    world.rotate("one");
    await world.pass(SECOND / 2);
    world.expect("the key exists", world.issued, 2);
    world.expect("only the annotation has the attempt", storedAttempt(world));
    setIntent(world, null);
    await world.pass(HOUR);
    world.expect("the lost key is orphaned", orphans(world), 1);
    world.expect("the request leads to one key more", world.issued, 3);
  }),
  story("an older intent that is put back opens nothing", async (world) => {
    await world.begin();
    const older = intentOf(world);
    world.rotate("one");
    await world.pass(MINUTE);
    setIntent(world, older);
    await world.pass(HOUR);
    world.expect("no key more than the two", world.issued, 2);
    world.expect("nothing is orphaned", orphans(world), 0);
    world.expect("the budget is as it was", counted(world), 1);
    world.rotate("two");
    await world.pass(MINUTE);
    world.expect("the next one is issued as ever", world.issued, 3);
  }),
  story("an intent in a copy of an ApiKey blames no key", async (world) => {
    await world.begin();
    const intent = intentOf(world) ?? "";
    world.sim.delete(apiKeyType, "ci");
    await world.pass(MINUTE);
    world.happens({ kind: "Kill" });
    const metadata = { ...inNamespace("ci"), annotations: { [annotations.intent]: intent } };
    const spec = { serviceAccountRef: { name: ACCOUNT } };
    world.sim.create(apiKeyType, { metadata, spec });
    await world.pass(15 * MINUTE);
    world.expect("nothing is orphaned", orphans(world), 0);
    world.expect("the copy has a key of its own", world.secret().keyId, world.live[1]);
  }),
  story("an intent that is put in place of an open attempt opens nothing", async (world) => {
    await world.begin();
    world.fault("issueKey", LOST);
    world.rotate("one");
    await world.pass(5 * SECOND);
    const { metadata, status } = world.key();
    const { attempt: open, lastAttemptId } = status ?? {};
    world.expect("an attempt is open", open !== undefined);
    const attempt = { ...open, id: attemptId(metadata.uid, "other"), knownKeyIds: world.live };
    setIntent(world, JSON.stringify({ attempt, after: lastAttemptId }));
    await world.pass(10 * MINUTE);
    const blamed = world.key().status?.orphaned?.map((key) => key.attemptId);
    world.expect("the open attempt lost a key", blamed, [open?.id]);
    const closed = world.events("ci").filter((each) => each.includes(attempt.id));
    world.expect("the other one is not believed", closed, []);
  }),
  story("a webhook that removes the intent makes no key disappear", async (world) => {
    world.sim.kube.admission.push((_, object) => {
      delete treeAt(treeAt(object, "metadata"), "annotations")[annotations.intent];
    });
    await world.begin();
    world.fault("issueKey", { kind: "Crash", when: "AfterCommit" });
    world.rotate("one");
    await world.pass(10 * MINUTE);
    world.expect("the lost key is orphaned", orphans(world), 1);
    world.expect("the request is carried out", world.secret().keyId, world.live[2]);
  }),
  story(
    "an API server that refuses the intent as an annotation has it in the status",
    async (world) => {
      await world.begin();
      world.fault("patch apikeys", refused(422), 1_000);
      world.rotate("one");
      await world.pass(2 * MINUTE);
      world.expect("two keys were issued", world.issued, 2);
      world.expect("the Secret holds the new one", world.secret().keyId, world.live[1]);
    },
  ),
  story("a key that the status has forgotten is tried before it is Ready", async (world) => {
    await world.begin();
    world.sim.deleteKeyInConsole(world.live[0] ?? "");
    world.happens({ kind: "WipeStatus", plural: "apikeys" });
    await world.pass(5 * SECOND);
    world.expect("it is not Ready", world.condition(apiKeyType, "ci")?.status === "True", false);
    await world.pass(10 * MINUTE);
    world.expect("it was replaced", world.live.includes(world.secret().keyId ?? ""));
  }),
  story("an intent that somebody has made up blames no key", async (world) => {
    await world.begin();
    const { metadata, status } = world.key();
    const id = attemptId(metadata.uid, "forged");
    const startTime = "2026-01-01T00:00:00Z";
    const attempt = { id, revision: 9, reason: "NoKeyYet", startTime, knownKeyIds: [] };
    setIntent(world, JSON.stringify({ attempt, after: status?.lastAttemptId }));
    await world.pass(HOUR);
    world.expect("no other key", world.issued, 1);
    world.expect("nothing is orphaned", orphans(world), 0);
    world.expect("the key in use works", world.live, [world.secret().keyId]);
  }),
  long(
    "a Secret that is deleted again and again is issued as often as a day allows",
    async (world) => {
      await world.begin();
      for (let time = 0; time < 6; time += 1) await deleteSecretAndWait(world);
      world.expect("four keys in a day", world.issued, 4);
      world.expect("the limit is reported", allowanceOf(world), "False BudgetExceeded");
      await world.pass(DAY);
      world.expect("and no longer", allowanceOf(world), "True Allowed");
      world.expect("and the next one a day later", world.issued, 5);
      world.expect("the Secret holds it", world.secret().keyId, world.live.at(-1));
    },
  ),
  unready("a restart does not renew the daily budget", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 2 } });
    await deleteSecretAndWait(world);
    world.happens({ kind: "Kill" });
    await deleteSecretAndWait(world);
    await world.pass(HOUR);
    world.expect("two keys in a day", world.issued, 2);
  }),
  unready("a new window of the budget permits only what 24 hours permit", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 2 } });
    await world.pass(DAY - HOUR);
    await deleteSecretAndWait(world);
    world.expect("the budget is used at the end of the window", world.issued, 2);
    await world.pass(2 * HOUR);
    await deleteSecretAndWait(world);
    world.expect("the first key is a day old", world.issued, 3);
    await deleteSecretAndWait(world);
    world.expect("the second one is not", world.issued, 3);
    await world.pass(DAY - 2 * HOUR);
    world.expect("until it is", world.issued, 4);
    await deleteSecretAndWait(world);
  }),
  story("a requested rotation leaves the budget to repairs, and happens once", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 2 } });
    for (const token of ["one", "two", "one", "two"]) {
      world.rotate(token);
      await world.pass(MINUTE);
    }
    world.expect("of four requests, two were new", world.issued, 3);
    world.expect("only the first key counts", counted(world), 1);
    await deleteSecretAndWait(world);
    world.expect("the Secret is repaired", world.issued, 4);
  }),
  unready("a Secret that is gone is told, whatever its key waits for", async (world) => {
    const told = (reason: string) => {
      const ready = world.condition(apiKeyType, "ci");
      world.expect("the reason", ready?.reason, reason);
      const words = "Workloads find no valid key pair. Secret ci is gone";
      world.expect(`it is told (${reason})`, ready?.message.startsWith(words));
    };
    await world.begin({ connection: granting({ maxIssuesPerDay: 1 }) });
    world.rotate("one");
    await deleteSecretAndWait(world);
    told("NamespaceBudgetExceeded");
    world.change(apiKeyType, "ci", { suspend: true });
    await world.pass(MINUTE);
    told("Suspended");
  }),
  story("a rejected issue gives back no more than itself", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 3 } });
    await deleteSecretAndWait(world);
    world.fault("issueKey", refused(422));
    world.rotate("one");
    await world.pass(2 * MINUTE);
    world.expect("two issues are counted", counted(world), 2);
    world.expect("the request stays open", world.key().status?.rotationPending, true);
    reconcile(world);
    await world.pass(MINUTE);
    world.expect("until it is fulfilled", world.key().status?.rotationPending, undefined);
    world.expect("by another key", world.key().status?.current?.revision, 3);
    world.expect("which counts", counted(world), 3);
  }),
  story("a rotation that is requested once happens once", async (world) => {
    await world.begin();
    world.rotate("one");
    await world.pass(10 * MINUTE);
    reconcile(world);
    await world.pass(20 * MINUTE);
    world.expect("two keys were issued", world.issued, 2);
    const { lastHandledRotateAt, current, superseded } = world.key().status ?? {};
    const [first, second] = world.live;
    world.expect("the request was handled", lastHandledRotateAt, "one");
    world.expect("the new key is in use", [current?.keyId, current?.revision], [second, 2]);
    const old = superseded?.map(({ keyId, state }) => [keyId, state]);
    world.expect("the old one is listed", old, [[first, "Live"]]);
    const exposed = /iam_operator_superseded_live_keys\{[^}]*name="ci"[^}]*\} 1\n/;
    world.expect("and counted", exposed.test(await world.sim.scrape()));
  }),
  story("a lost response does not hold up other ApiKeys of the account", async (world) => {
    await beginWithTwo(world);
    world.fault("issueKey", LOST);
    world.rotate("one");
    await world.pass(5 * SECOND);
    world.rotate("one", "other");
    await world.pass(5 * SECOND);
    world.expect("the other ApiKey has a new key", world.issued, 4);
    await world.pass(5 * SECOND);
    world.expect("the call may still take effect", orphans(world), 0);
    await world.until(() => orphans(world) > 0);
    await world.pass(2 * SECOND);
    world.expect("then both are rotated", world.issued, 5);
    await world.pass(5 * MINUTE);
    world.expect("once", world.issued, 5);
    world.expect("its own key is orphaned", [orphans(world), orphans(world, "other")], [1, 0]);
  }),
  unready(
    "an account that is being deleted with its ApiKey explains a lost response",
    async (world) => {
      await world.begin();
      world.fault("issueKey", LOST);
      world.rotate("one");
      await world.until(() => world.issued === 2);
      const [, lost = ""] = world.live;
      for (const type of [serviceAccountType, apiKeyType])
        world.sim.delete(type, type === apiKeyType ? "ci" : ACCOUNT);
      await world.pass(MINUTE);
      world.expect("the ApiKey is gone", world.sim.get(apiKeyType, "ci"), undefined);
      const told = world.events("ci").find((each) => each.startsWith("KeysNotRevoked")) ?? "";
      world.expect("the lost key is named", told.includes(lost));
    },
  ),
  story("a lost response of one ApiKey while another one has keys", async (world) => {
    await beginWithTwo(world);
    world.fault("issueKey", LOST);
    rotateBoth(world);
    await world.pass(15 * MINUTE);
    world.expect("one key is orphaned", orphans(world) + orphans(world, "other"), 1);
  }),
  story("the API server is restored to before the last key", async (world) => {
    await world.begin({ key: { rotation: { overlap: "1h" } } });
    world.sim.takeSnapshot();
    world.rotate("one");
    await world.pass(MINUTE);
    const [, second] = world.live;
    world.happens({ kind: "Restore", backMs: MINUTE, bumped: true });
    await world.pass(10 * MINUTE);
    const { current, superseded = [], orphaned = [] } = world.key().status ?? {};
    const listed = [current, ...superseded, ...orphaned].map((key) => key?.keyId);
    world.expect("the key that was forgotten is listed", listed.includes(second));
  }),
  long("after two lost keys in a row, a renewal is tried once a day", async (world) => {
    await world.begin({ key: { expiresInDays: 3, rotation: { renewBefore: "48h" } } });
    world.fault("issueKey", LOST, 100);
    await world.pass(25 * HOUR);
    world.expect("two keys were lost", orphans(world), 2);
    world.expect("it is said", allowanceOf(world), "False TooManyOrphanedKeys");
    world.expect("the key works", world.condition(apiKeyType, "ci")?.status, "True");
    await world.pass(DAY);
    world.expect("one more a day later", orphans(world), 3);
    world.cease();
    await world.pass(18 * HOUR);
    world.expect("the key is renewed before it expires soon", world.issued, 5);
    world.expect("all is well again", allowanceOf(world), "True Allowed");
  }),
  long("however many rotations were requested, a renewal comes at its time", async (world) => {
    await world.begin({ key: { expiresInDays: 4 } });
    for (const token of ["one", "two", "three", "four", "five"]) {
      world.rotate(token);
      await world.pass(MINUTE);
    }
    const { renewalTime } = world.key().status ?? {};
    world.expect("six keys work", world.live.length, 6);
    await world.pass((parseInstant(renewalTime) ?? 0) - world.sim.kernel.now - MINUTE);
    world.expect("not before", world.issued, 6);
    await world.pass(2 * MINUTE);
    world.expect("then", world.key().status?.current?.revision, 7);
  }),
  long("an expired key is no longer listed", async (world) => {
    world.fault("issueKey", LOST);
    await world.begin({ key: { expiresInDays: 1 } });
    await world.pass(DAY + 2 * HOUR);
    world.expect("it does not count any more", world.key().status?.orphanCount, 0);
    const states = (world.key().status?.superseded ?? []).map(({ state }) => state);
    world.expect("nor does one that was rotated", states, ["Expired"]);
    const [expired] = world.key().status?.superseded ?? [];
    await world.pass(DAY);
    const listed = world.key().status?.superseded?.map(({ keyId }) => keyId);
    world.expect("nor is that listed a day later", listed?.includes(expired?.keyId ?? ""), false);
    world.expect("nothing is orphaned that expired a day ago", orphans(world), 0);
    world.expect("one key was issued for each period", world.issued, 5);
  }),
  story(
    "a report that the API server rejects is not tried again before its time",
    async (world) => {
      world.fault("create secrets (dry run)", refused(500), 8);
      world.fault("apply apikeys/status", { kind: "Refuse", status: 429, retryAfter: 60 });
      await world.begin();
      await world.pass(10 * MINUTE);
    },
  ),
  story("a status whose response was lost is not overwritten by an older one", async (world) => {
    await world.begin();
    world.fault("issueKey", { kind: "Slow", ms: SECOND });
    world.rotate("one");
    await world.until(() => world.calls("issueKey") === 2);
    world.fault("apply apikeys/status", { kind: "Reset", when: "AfterCommit" }, 2);
    await world.pass(5 * MINUTE);
    const reasons = world.reasons(apiKeyType, "ci");
    world.expect("nor by its failure", reasons.includes("Unavailable"), false);
    world.expect("two keys were issued", world.issued, 2);
  }),
  story("a workload without its Secret gets a key however many were lost", async (world) => {
    await world.begin({ key: { maxIssuesPerDay: 100 } });
    for (let time = 0; time < 4; time += 1) {
      world.fault("issueKey", LOST, 1);
      world.change(apiKeyType, "ci", { expiresInDays: 90 - time });
      await deleteSecretAndWait(world, 10 * MINUTE);
    }
    world.expect("the Secret holds a key", world.live.includes(world.secret().keyId ?? ""));
  }),
  ...[12, 18].map((seconds) =>
    story(
      `a key that is issued ${seconds} s late is found before the attempt is closed`,
      async (world) => {
        await world.begin();
        world.fault("issueKey", { kind: "LateCommit", ms: seconds * SECOND, status: 504 });
        world.rotate("one");
        await world.pass(5 * MINUTE);
        world.expect("the late key is orphaned", orphans(world), 1);
        const isLate = world.events("ci").some((each) => each.includes("appeared"));
        world.expect("only after that", isLate, false);
      },
    ),
  ),
  unready("a list that lacks the key in use proves nothing about a lost one", async (world) => {
    await world.begin();
    await world.pass(MINUTE);
    world.rotate("one");
    await world.pass(10 * SECOND);
    world.sim.putListsBehind(MINUTE, 10 * MINUTE);
    world.fault("issueKey", LOST);
    world.rotate("two");
    await world.pass(MINUTE);
    world.expect("one is assumed to be lost", orphans(world), 1);
    await world.pass(HOUR);
  }),
  story("two ApiKeys with the same spec are not renewed at the same time", async (world) => {
    await beginWithTwo(world);
    const [one, two] = ["ci", "other"].map((name) => {
      const { current, renewalTime } = world.key(name).status ?? {};
      return (parseInstant(renewalTime) ?? 0) - (parseInstant(current?.issueTime) ?? 0);
    });
    world.expect("jitter sets them apart", Math.abs((one ?? 0) - (two ?? 0)) > MINUTE);
  }),
  story("the status has the expiry that the console has", async (world) => {
    await world.begin();
    const [key] = [...world.sim.console.world.keys.values()];
    const noted = parseInstant(world.key().status?.current?.expirationTime) ?? 0;
    world.expect("never later than in the console", noted <= (key?.expirationTime ?? 0));
  }),
  long("a rotation waits for its window, but not until the key expires", async (world) => {
    const rotation = (schedule: string) => ({
      overlap: "5m",
      windows: [{ schedule, duration: "1h", timeZone: "UTC" }],
    });
    await world.begin({ key: { expiresInDays: 1, rotation: rotation("0 18 * * *") } });
    createKey(world.sim, "other", { expiresInDays: 1, rotation: rotation("0 3 1 12 *") });
    await world.pass(17 * HOUR);
    world.expect("nothing was rotated before", world.issued, 2);
    const saidOf = (name: string) =>
      world.condition(apiKeyType, name, "IssuanceAllowed")?.reason ?? "nothing";
    const said = ["ci", "other"].map(saidOf);
    world.expect("which one misses its window is said", said, ["Allowed", "OutsideWindows"]);
    await world.pass(2 * HOUR);
    world.expect("one was rotated in its window", world.key().status?.current?.revision, 2);
    await world.pass(4 * HOUR);
    world.expect("the other one in time", world.key("other").status?.current?.revision, 2);
  }),
];
