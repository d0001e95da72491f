import { describe, expect, test } from "vitest";
import { DEFAULT_CREDENTIALS, SEEDED } from "../iam-server/seed.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

/** A creation that was not answered is explained only after its call can no longer take effect. */
const EXPLAINED_MS = 50_000;
const bare = { bare: true } as const;

const opened = async (world: World, spec: object = {}) => {
  await world.serviceAccount("ci", spec);
  await world.ready("ServiceAccount", "ci");
  return accountOf(world);
};
const statusOf = async (world: World, name = "ci") =>
  (await world.get("ServiceAccount", name)).status ?? {};
const accountOf = async (world: World, name = "ci") => {
  const { saId = "", tpn = "" } = await statusOf(world, name);
  return { saId, tpn };
};
const explained = async (world: World) => {
  const isKnown = async () => (await statusOf(world)).saId !== undefined;
  await world.until("the account to be known", isKnown, EXPLAINED_MS);
  await world.ready("ServiceAccount", "ci");
};
const existing = (world: World, name = "old") =>
  world.iam.world.createAccount({ orgId: "org-1", projectId: "prj-1", name, description: "" });
/** What the account of `ci` is called at the console. */
const nameOf = (world: World) => `${world.namespace}-ci`;
const accountsNamed = (world: World, name: string) =>
  [...world.iam.world.accounts.values()].filter((account) => account.name === name);
const bind = (world: World, name: string, ...policyIds: readonly string[]) =>
  world.apply("PolicyBinding", name, { serviceAccountRef: { name: "ci" }, policyIds });

describe.concurrent("a new ServiceAccount", () => {
  test(
    "creates an account named after its namespace and itself, once, whose description says where it comes from",
    inWorld({}, async (world) => {
      const { saId } = await opened(world, { description: "for CI" });
      expect(world.iam.world.accounts.get(saId)).toMatchObject({
        name: nameOf(world),
        orgId: "org-1",
        projectId: "prj-1",
        description: expect.stringMatching(
          new RegExp(`^for CI k8s ${world.namespace}/ci#[\\w-]+$`),
        ),
      });
      expect(world.iam.requests.count("createServiceAccount")).toBe(1);
      expect(await statusOf(world)).toMatchObject({
        state: "active",
        origin: "Created",
        keyCount: 0,
        orgId: "org-1",
        projectId: "prj-1",
      });
      await world.until("the event Created", async () =>
        (await world.events("ci")).some(({ reason }) => reason === "Created"),
      );
    }),
  );

  test(
    "takes name and project from its spec",
    inWorld({}, async (world) => {
      const { saId } = await opened(world, { name: "robot", projectId: SEEDED.otherProjectId });
      expect(world.iam.world.accounts.get(saId)).toMatchObject({
        name: "robot",
        projectId: "prj-2",
      });
    }),
  );

  test(
    "waits while it is suspended",
    inWorld({}, async (world) => {
      await world.serviceAccount("ci", { suspend: true });
      await world.condition("ServiceAccount", "ci", "Ready", "False", "Suspended");
      expect(world.iam.requests.count("createServiceAccount")).toBe(0);
      await opened(world, { suspend: false });
    }),
  );

  test(
    "leaves an account of that name to whoever made it",
    inWorld({}, async (world) => {
      const { saId } = existing(world, nameOf(world));
      await world.serviceAccount("ci");
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "AccountExists");
      expect(await world.message("ServiceAccount", "ci")).toContain(saId);
      expect(world.iam.requests.count("createServiceAccount")).toBe(0);
    }),
  );

  test(
    "says what to do about a 403, with the id of the request",
    inWorld(bare, async (world) => {
      const { password, domain } = DEFAULT_CREDENTIALS;
      await world.writeSecret("login", { username: SEEDED.powerlessUser, password, domain });
      await world.connect({ credentials: { login: { secretRef: { name: "login" } } } });
      await world.start();
      await world.serviceAccount("ci");
      // A connection that has just come into use has it tried twice: the words come, go and come again.
      const wanted = [/Policy denied/, /request/, /administrator/];
      await world.until(
        "the words about the 403",
        async () => {
          const message = await world.message("ServiceAccount", "ci");
          return wanted.every((words) => words.test(message));
        },
        20_000,
      );
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "PermissionDenied");
      expect(world.iam.world.accounts.size).toBe(0);
    }),
  );
});

describe.concurrent("a creation whose answer is lost", () => {
  test.each([
    { serviceAccountList: "envelope" },
    { serviceAccountList: "bareArray", serviceAccountPaging: "ignored" },
    { serviceAccountList: "items", errorBody: "empty" },
  ] as const)(
    "after it took effect is found again, never repeated (%o)",
    (shapes) =>
      inWorld({ shapes }, async (world) => {
        world.iam.faults.add({
          operation: "createServiceAccount",
          when: "afterCommit",
          action: { kind: "reset" },
        });
        await world.serviceAccount("ci");
        await world.condition("ServiceAccount", "ci", "Ready", "False", "CreateOutcomeUnknown");
        await explained(world);
        expect(accountsNamed(world, nameOf(world))).toHaveLength(1);
        expect(world.iam.requests.count("createServiceAccount")).toBe(1);
        expect((await statusOf(world)).attempt).toBeUndefined();
      })(),
    120_000,
  );

  test(
    "before it took effect is made again, once",
    inWorld({}, async (world) => {
      world.iam.faults.add({
        operation: "createServiceAccount",
        when: "beforeCommit",
        action: { kind: "reset" },
      });
      await world.serviceAccount("ci");
      await explained(world);
      expect(accountsNamed(world, nameOf(world))).toHaveLength(1);
      expect(world.iam.requests.count("createServiceAccount")).toBe(2);
    }),
    120_000,
  );

  test(
    "with the process that waited for it is found by the next one",
    inWorld({}, async (world) => {
      const hold = world.iam.faults.add({
        operation: "createServiceAccount",
        when: "afterCommit",
        action: { kind: "hold" },
      });
      await world.serviceAccount("ci");
      await hold.reached;
      await world.operator?.kill();
      hold.release();
      await world.start();
      await explained(world);
      expect(accountsNamed(world, nameOf(world))).toHaveLength(1);
      expect(world.iam.requests.count("createServiceAccount")).toBe(1);
      await world.until("the event Recovered", async () =>
        (await world.events("ci")).some(({ reason }) => reason === "Recovered"),
      );
    }),
    120_000,
  );

  test(
    "and whose object is deleted meanwhile leaves no policy bound",
    inWorld({}, async (world) => {
      world.iam.faults.add({
        operation: "createServiceAccount",
        when: "afterCommit",
        action: { kind: "reset" },
      });
      await world.serviceAccount("ci");
      await world.condition("ServiceAccount", "ci", "Ready", "False", "CreateOutcomeUnknown");
      const [account] = accountsNamed(world, nameOf(world));
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci", EXPLAINED_MS);
      await world.until("the last words", async () =>
        (await world.events("ci")).some(({ note }) => note.includes(account?.saId ?? "?")),
      );
    }),
    120_000,
  );
});

describe.concurrent("an import", () => {
  test(
    "adopts the account and leaves its policies as they are, at the end too",
    inWorld({}, async (world) => {
      const { saId, tpn } = existing(world);
      world.iam.world.replaceBindings(tpn, ["pol-member"]);
      await opened(world, { saId });
      expect(await statusOf(world)).toMatchObject({ saId, tpn, origin: "Imported" });
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci");
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-member"]);
      expect(world.iam.requests.count("createServiceAccount")).toBe(0);
      expect(world.iam.requests.count("syncBindings")).toBe(0);
    }),
  );

  test(
    "of an account that does not exist says so",
    inWorld({}, async (world) => {
      await world.serviceAccount("ci", { saId: "sa-none" });
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "ServiceAccountNotFound");
      expect(await world.message("ServiceAccount", "ci")).toContain("sa-none");
    }),
  );

  test(
    "belongs to the older of two objects, and to the other one after it",
    inWorld({}, async (world) => {
      const { saId } = existing(world);
      await opened(world, { saId });
      // Ages have whole seconds.
      const { creationTimestamp = "" } = (await world.get("ServiceAccount", "ci")).metadata;
      await world.until(
        "the next second",
        () => Date.now() > Date.parse(creationTimestamp) + 1_100,
      );
      await world.serviceAccount("second", { saId });
      await world.condition("ServiceAccount", "second", "Stalled", "True", "AlreadyClaimed");
      expect(await world.message("ServiceAccount", "second")).toContain(`${world.namespace}/ci`);
      await world.delete("ServiceAccount", "ci");
      await world.ready("ServiceAccount", "second");
    }),
  );
});

describe.concurrent("an account that changes at the console", () => {
  test(
    "gets no key while it is not active",
    inWorld({}, async (world) => {
      const { saId } = await opened(world);
      world.iam.world.setAccountStatus(saId, "inactive");
      await world.lookAgain("ServiceAccount", "ci", "1");
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "ServiceAccountNotActive");
      expect(await statusOf(world)).toMatchObject({ state: "inactive" });
      await world.apiKey("key");
      await world.condition("ApiKey", "key", "Ready", "False", "ServiceAccountNotReady");
      expect(world.iam.requests.count("issueKey")).toBe(0);
      world.iam.world.setAccountStatus(saId, "active");
      await world.lookAgain("ServiceAccount", "ci", "2");
      await world.ready("ServiceAccount", "ci");
      await world.ready("ApiKey", "key");
    }),
  );

  test(
    "is not made again when it is gone, and lets its objects go",
    inWorld({}, async (world) => {
      const { saId } = await opened(world);
      await world.apiKey("key");
      await bind(world, "read", "pol-read");
      await world.ready("ApiKey", "key");
      await world.ready("PolicyBinding", "read");
      world.iam.world.deleteAccount(saId);
      await world.lookAgain("ServiceAccount", "ci", "1");
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "ServiceAccountGone");
      expect(await world.message("ServiceAccount", "ci")).toContain(saId);
      await world.condition("PolicyBinding", "read", "Ready", "False");
      for (const [kind, name] of [
        ["ApiKey", "key"],
        ["PolicyBinding", "read"],
        ["ServiceAccount", "ci"],
      ] as const) {
        await world.delete(kind, name);
        await world.isGone(kind, name);
      }
      expect(world.iam.requests.count("createServiceAccount")).toBe(1);
    }),
  );
});

describe.concurrent("the keys of an account", () => {
  test(
    "are listed soon after they came into use, and cost no further call",
    inWorld({}, async (world) => {
      const { saId } = await opened(world);
      await world.apiKey("one");
      await world.apiKey("two");
      await world.ready("ApiKey", "one");
      await world.ready("ApiKey", "two");
      await world.until("both keys", async () => (await statusOf(world)).keyCount === 2, 15_000);
      expect((await statusOf(world)).liveKeyIds?.toSorted()).toEqual(
        world.iam.world
          .keysOf(saId)
          .map(({ keyId }) => keyId)
          .toSorted(),
      );
      const before = world.iam.requests.counts();
      // One check each, before they were delivered.
      expect(before.searchActions).toBe(2);
      // A request checks each pair and issues nothing.
      await world.lookAgain("ApiKey", "one", "1");
      await world.lookAgain("ApiKey", "two", "1");
      const { searchActions, issueKey } = world.iam.requests.counts();
      expect([searchActions, issueKey]).toEqual([4, before.issueKey]);
    }),
    60_000,
  );

  test(
    "are not looked for again and again where the console does not list them",
    inWorld({ shapes: { keyRecords: "empty" } }, async (world) => {
      await opened(world);
      await world.apiKey("key");
      await world.ready("ApiKey", "key");
      const looks = () => world.iam.requests.count("getServiceAccount");
      const before = looks();
      const started = performance.now();
      await world.until("two intervals", () => performance.now() - started > 22_000, 30_000);
      expect(looks() - before).toBeLessThanOrEqual(1);
    }),
    90_000,
  );

  test(
    "are looked at once in a while, however many come",
    inWorld({ config: { concurrency: 16 } }, async (world) => {
      const { saId } = await opened(world);
      const started = performance.now();
      const names = Array.from({ length: 12 }, (_, index) => `key-${index}`);
      await Promise.all(names.map((name) => world.apiKey(name)));
      await world.until(
        "all keys in the list",
        async () => (await statusOf(world)).keyCount === names.length,
        60_000,
      );
      const intervals = (performance.now() - started) / 10_000;
      const issued = world.iam.world.keysOf(saId).length;
      expect(issued).toBe(names.length);
      // One call before each issue, and the account's own looks.
      const looks = world.iam.requests.count("getServiceAccount") - issued;
      expect(looks).toBeLessThanOrEqual(Math.ceil(intervals) + 1);
      expect(world.iam.requests.count("searchActions")).toBe(names.length);
    }),
    120_000,
  );

  test(
    "of which one vanishes at the console are tried, and issued again",
    inWorld({}, async (world) => {
      await opened(world);
      await world.apiKey("key");
      await world.ready("ApiKey", "key");
      await world.until("the key", async () => (await statusOf(world)).keyCount === 1, 15_000);
      const { keyId = "" } = await world.entries("key");
      world.iam.world.deleteKey(keyId);
      await world.lookAgain("ServiceAccount", "ci", "1");
      await world.until("another pair", async () => (await world.entries("key")).keyId !== keyId);
      await world.until("a live pair", () => world.holdsLivePair("key"));
      expect(world.iam.requests.count("issueKey")).toBe(2);
    }),
    60_000,
  );
});

describe.concurrent("the end of a ServiceAccount", () => {
  test(
    "unbinds everything, leaves the account and says what is left",
    inWorld({}, async (world) => {
      const { saId, tpn } = await opened(world);
      await world.apiKey("key");
      await bind(world, "read", "pol-read");
      await world.ready("ApiKey", "key");
      await world.ready("PolicyBinding", "read");
      const { keyId = "?" } = await world.entries("key");
      await world.delete("ServiceAccount", "ci");
      await world.condition("ServiceAccount", "ci", "Ready", "False", "InUse");
      expect(await world.message("ServiceAccount", "ci")).toContain("ApiKey key");
      await world.delete("ApiKey", "key");
      await world.delete("PolicyBinding", "read");
      await world.isGone("ServiceAccount", "ci");
      expect(world.iam.world.boundTo(tpn)).toEqual([]);
      expect(world.iam.world.accounts.has(saId)).toBe(true);
      await world.until("the last words", async () =>
        (await world.events("ci")).some(
          ({ reason, note }) =>
            reason === "Revoked" &&
            note.includes(saId) &&
            note.includes(tpn) &&
            note.includes(keyId),
        ),
      );
    }),
  );

  test(
    "leaves the policies where that is asked for",
    inWorld({}, async (world) => {
      const { tpn } = await opened(world, { deletionPolicy: "Retain" });
      world.iam.world.replaceBindings(tpn, ["pol-member"]);
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci");
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-member"]);
    }),
  );

  test(
    "deletes the account where the connection names the call",
    inWorld({ extraCalls: true }, async (world) => {
      const { saId } = await opened(world, { deletionPolicy: "Delete" });
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci");
      expect(world.iam.world.accounts.has(saId)).toBe(false);
    }),
  );

  test(
    "waits where the call to delete is not known, until less is asked for",
    inWorld({}, async (world) => {
      await opened(world, { deletionPolicy: "Delete" });
      await world.delete("ServiceAccount", "ci");
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "DeleteNotPossible");
      expect(await world.message("ServiceAccount", "ci")).toMatch(/extraCalls/);
      await world.patch("ServiceAccount", "ci", { spec: { deletionPolicy: "Retain" } });
      await world.isGone("ServiceAccount", "ci");
    }),
  );

  test(
    "waits for a console that is down",
    inWorld({}, async (world) => {
      const { tpn } = await opened(world);
      world.iam.world.replaceBindings(tpn, ["pol-member"]);
      await world.iam.faults.setReachability("refuse");
      await world.delete("ServiceAccount", "ci");
      await world.condition("ServiceAccount", "ci", "Ready", "False");
      await world.iam.faults.setReachability("up");
      await world.isGone("ServiceAccount", "ci", 45_000);
      expect(world.iam.world.boundTo(tpn)).toEqual([]);
    }),
    90_000,
  );
});

describe.concurrent("revoked access", () => {
  test(
    "unbinds everything, foreign policies too, and gives back what is declared",
    inWorld({}, async (world) => {
      const { tpn } = await opened(world);
      await bind(world, "read", "pol-read");
      await world.ready("PolicyBinding", "read");
      world.iam.world.replaceBindings(tpn, ["pol-read", "pol-member"]);
      await world.serviceAccount("ci", { access: "Revoked" });
      await world.until("nothing to be bound", () => world.iam.world.boundTo(tpn).length === 0);
      await world.condition("PolicyBinding", "read", "Ready", "False", "AccessRevoked");
      await world.condition("ServiceAccount", "ci", "AccessRevoked", "True", "AccessRevoked");
      await world.serviceAccount("ci", { access: "Granted" });
      await world.ready("PolicyBinding", "read");
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
    }),
  );

  test(
    "works without any PolicyBinding",
    inWorld({}, async (world) => {
      const { tpn } = await opened(world);
      world.iam.world.replaceBindings(tpn, ["pol-member"]);
      await world.serviceAccount("ci", { access: "Revoked" });
      await world.until("nothing to be bound", () => world.iam.world.boundTo(tpn).length === 0);
    }),
  );
});
