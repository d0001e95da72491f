import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { annotations } from "../../../../src/api/meta.ts";
import {
  apiKeyType,
  namespaceType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { HttpError } from "../../../../src/http/http.ts";
import { SEEDED } from "../../../iam-server/seed.ts";
import { startIamServer } from "../../../iam-server/server.ts";
import { createWorld, ready, type World } from "./world.ts";

let world: World;

beforeEach(async () => {
  world = await createWorld();
  await world.putLogin();
  await world.putConnection();
});
afterEach(async () => {
  expect(world.console.requests.unknownCalls).toEqual([]);
  await world.stop();
});

const accountsAtConsole = () =>
  [...world.console.world.accounts.values()].filter(({ orgId }) => orgId === SEEDED.orgId);
const remove = (name: string) =>
  world.kube.delete(serviceAccountType, { namespace: world.namespace, name }, {});

describe("a connection", () => {
  test("logs in once, and is ready", async () => {
    const object = await world.connect();
    await world.connect();
    expect(ready(object)).toBe("Ready=True Authenticated");
    expect(object?.metadata.finalizers).toEqual(["iam-operator.io/finalizer"]);
    expect(object?.status).toMatchObject({ users: 0 });
    expect(world.console.requests.count("login")).toBe(1);
  });

  test("a Secret without its keys is named, and a complete one is used", async () => {
    await world.putConnection({ credentials: { login: { secretRef: { name: "other" } } } });
    expect(ready(await world.connect())).toBe("Ready=False SecretNotFound");
    expect(world.console.requests.count("login")).toBe(0);
    await world.putConnection();
    expect(ready(await world.connect())).toBe("Ready=True Authenticated");
  });

  test("a second factor ends the attempts", async () => {
    await world.putLogin({ username: SEEDED.mfaUser });
    for (let pass = 0; pass < 3; pass += 1) {
      expect(ready(await world.connect())).toBe("Ready=False MfaRequired");
    }
    expect(world.console.requests.count("login")).toBe(1);
  });
});

describe("a service account", () => {
  beforeEach(async () => {
    await world.connect();
  });

  test("is created once, and an idle pass asks nothing", async () => {
    await world.putAccount("ci-bot", { description: "builds" });
    const { object } = await world.reconcile("ci-bot");
    const [account] = accountsAtConsole();
    expect(ready(object)).toBe("Ready=True Created");
    expect(object?.status).toMatchObject({
      saId: account?.saId,
      tpn: account?.tpn,
      orgId: SEEDED.orgId,
      projectId: SEEDED.projectId,
      state: "active",
      origin: "Created",
      liveKeyIds: [],
      keyCount: 0,
    });
    expect(object?.status?.attempt).toBeUndefined();
    expect(account?.description).toMatch(
      new RegExp(`^builds k8s ${world.namespace}/ci-bot#[0-9a-f]{8}-[0-9a-z]{12}$`),
    );
    const calls = world.calls();
    const idle = await world.reconcile("ci-bot");
    expect(world.calls()).toBe(calls);
    expect(idle.object?.metadata.resourceVersion).toBe(object?.metadata.resourceVersion);
    expect(idle.result?.requeueAfterMs).toBeGreaterThan(4 * 60_000);
  });

  test("finalizer and intent are one write once the console shows a description of the operator's", async () => {
    const writesOf = (account: string) =>
      world.cluster.writes
        .filter(({ name, plural }) => plural === "serviceaccounts" && name === account)
        .map(({ verb, status }) => (status ? "status" : verb));
    const { orgId, projectId } = SEEDED;
    world.console.world.createAccount({ orgId, projectId, name: "by-hand", description: "" });
    for (const name of ["first", "second"]) {
      await world.putAccount(name);
      expect(ready((await world.reconcile(name)).object)).toBe("Ready=True Created");
    }
    expect(writesOf("first").slice(1)).toEqual(["patch", "status", "status"]);
    expect(writesOf("second").slice(1)).toEqual(["patch", "status"]);
  });

  test("a creation of which only the annotation tells is recovered by its description", async () => {
    await world.putAccount("first");
    await world.reconcile("first");
    world.cluster.onWrite = ({ status }, carryOut) => {
      if (status) throw new HttpError("timeout", "no answer");
      return carryOut();
    };
    await world.putAccount("ci-bot");
    await world.reconcile("ci-bot");
    world.cluster.onWrite = (_, carryOut) => carryOut();
    const key = { namespace: world.namespace, name: "ci-bot" };
    expect(world.cluster.peek(serviceAccountType, key).status?.attempt).toBeUndefined();
    expect((await world.kube.get(serviceAccountType, key))?.status?.attempt?.described).toBe(true);
    const { object } = await world.reconcile("ci-bot");
    expect(ready(object)).toBe("Ready=True Created");
    expect(object?.status?.attempt).toBeUndefined();
    expect(world.console.requests.count("createServiceAccount")).toBe(2);
  });

  test("a creation whose answer was lost is recovered, not repeated", async () => {
    world.console.faults.add({
      operation: "createServiceAccount",
      when: "afterCommit",
      action: { kind: "reset" },
    });
    await world.putAccount("ci-bot");
    const lost = await world.reconcile("ci-bot");
    expect(lost.error).toMatchObject({ name: "IamError" });
    expect(lost.object?.status?.attempt).toBeDefined();
    expect(lost.object?.metadata.finalizers).toEqual(["iam-operator.io/finalizer"]);
    expect(ready(lost.object)).toBe("Ready=False Unavailable");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe(
      "Ready=False CreateOutcomeUnknown",
    );
    world.advance(30_000);
    const { object } = await world.reconcile("ci-bot");
    expect(ready(object)).toBe("Ready=True Created");
    expect(object?.status?.attempt).toBeUndefined();
    expect(accountsAtConsole().map(({ saId }) => saId)).toEqual([object?.status?.saId]);
    expect(world.console.requests.count("createServiceAccount")).toBe(1);
  });

  test("a creation that never took effect is made again", async () => {
    world.console.faults.add({
      operation: "createServiceAccount",
      when: "beforeCommit",
      action: { kind: "status", status: 502 },
    });
    await world.putAccount("ci-bot");
    await world.reconcile("ci-bot");
    world.advance(30_000);
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=True Created");
    expect(accountsAtConsole()).toHaveLength(1);
  });

  test("a refused creation closes its attempt and is for a person", async () => {
    world.console.faults.add({
      operation: "createServiceAccount",
      when: "beforeCommit",
      action: { kind: "status", status: 422 },
    });
    await world.putAccount("ci-bot");
    const { object, error } = await world.reconcile("ci-bot");
    expect(error).toMatchObject({ code: "InvalidArgument" });
    expect(ready(object)).toBe("Ready=False InvalidArgument");
    expect(object?.status?.attempt).toBeUndefined();
  });

  test("a status that was lost is found again", async () => {
    await world.putAccount("ci-bot");
    const before = await world.reconcile("ci-bot");
    await world.wipeStatus("ci-bot");
    const { object } = await world.reconcile("ci-bot");
    expect(object?.status?.saId).toBe(before.object?.status?.saId);
    expect(accountsAtConsole()).toHaveLength(1);
  });

  test.each([
    ["names the permission that an import requires", false, true],
    ["does not name a permission that the namespace has", true, false],
  ])("a taken name %s", async (_, importServiceAccounts, isNamed) => {
    const grants = [{ name: "all", namespaces: { all: true }, importServiceAccounts }];
    await world.putConnection({ grants });
    await world.connect();
    await world.putAccount("first", { name: "bot" });
    await world.reconcile("first");
    await world.putAccount("second", { name: "bot" });
    const { object } = await world.reconcile("second");
    const message = object?.status?.conditions?.find(({ type }) => type === "Ready")?.message ?? "";
    expect(message).toContain("with spec.saId to import that account");
    expect(message.includes("importServiceAccounts: true")).toBe(isNamed);
  });

  describe("in two namespaces", () => {
    const grants = [{ name: "all", namespaces: { names: ["a", "a-b"] } }];
    const accountOf = async (where: string, name: string) => {
      world.cluster.put(namespaceType, { metadata: { name: where } });
      await world.putAccount(name, {}, where);
      return ready((await world.reconcile(name, where)).object);
    };
    const names = () => accountsAtConsole().map(({ name }) => name);

    beforeEach(async () => {
      await world.putConnection({ grants });
      await world.connect();
    });

    test("of one name has an account in each", async () => {
      expect(await accountOf("a", "ci-bot")).toBe("Ready=True Created");
      expect(await accountOf("a-b", "ci-bot")).toBe("Ready=True Created");
      expect(names()).toEqual(["a-ci-bot", "a-b-ci-bot"]);
    });

    test("whose account would be called as that of the other waits for a person", async () => {
      expect(await accountOf("a", "b-c")).toBe("Ready=True Created");
      expect(await accountOf("a-b", "c")).toBe("Ready=False AccountExists");
      expect(names()).toEqual(["a-b-c"]);
    });
  });

  test("what changes at the console is seen when somebody asks", async () => {
    await world.putAccount("ci-bot");
    const { object } = await world.reconcile("ci-bot");
    const saId = object?.status?.saId ?? "";
    world.console.world.setAccountStatus(saId, "inactive");
    const { keyId } = world.issueKey(saId);
    await world.kube.mergePatch(
      serviceAccountType,
      { namespace: world.namespace, name: "ci-bot" },
      { metadata: { annotations: { [annotations.reconcileRequestedAt]: "one" } } },
    );
    const seen = await world.reconcile("ci-bot");
    expect(ready(seen.object)).toBe("Ready=False ServiceAccountNotActive");
    expect(seen.object?.status).toMatchObject({
      lastHandledReconcileAt: "one",
      liveKeyIds: [keyId],
      keyCount: 1,
    });
  });

  test("an account that vanished is not created again", async () => {
    await world.putAccount("ci-bot");
    const { object } = await world.reconcile("ci-bot");
    world.console.world.deleteAccount(object?.status?.saId ?? "");
    world.advance(15 * 60_000);
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=False ServiceAccountGone");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=False ServiceAccountGone");
    expect(accountsAtConsole()).toHaveLength(0);
  });

  test("an account is found again at another console before anything else", async () => {
    await world.putAccount("ci-bot");
    const before = await world.reconcile("ci-bot");
    expect(before.object?.status?.consoleURL).toBe(world.console.url);
    const other = await startIamServer();
    try {
      await world.putConnection({ baseURL: other.url });
      await world.connect();
      const lost = await world.reconcile("ci-bot");
      expect(ready(lost.object)).toBe("Ready=False ServiceAccountGone");
      expect(lost.object?.status?.consoleURL).toBe(world.console.url);
      await world.putConnection();
      await world.connect();
      expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=True Created");
    } finally {
      await other.close();
    }
  });

  test("its deletion waits for its keys, unbinds its policies and names what stays", async () => {
    await world.putAccount("ci-bot");
    const { object } = await world.reconcile("ci-bot");
    const { saId = "", tpn = "" } = object?.status ?? {};
    const { keyId } = world.issueKey(saId);
    world.console.world.replaceBindings(tpn, ["pol-p1-member"]);
    await world.putKey("key", "ci-bot");
    await remove("ci-bot");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=False InUse");
    await world.kube.delete(apiKeyType, { namespace: world.namespace, name: "key" }, {});
    expect((await world.reconcile("ci-bot")).object).toBeUndefined();
    expect(world.console.world.boundTo(tpn)).toEqual([]);
    expect(world.events.at(-1)).toBe(
      `Normal Revoked: Unbound every policy of service account ${saId} (${tpn}), keys when last listed: ${keyId}; the account itself stays in the console.`,
    );
  });

  test("its deletion ends with the console down, and says so", async () => {
    await world.putAccount("ci-bot");
    await world.reconcile("ci-bot");
    await world.console.faults.setReachability("unavailable");
    await remove("ci-bot");
    const held = await world.reconcile("ci-bot");
    expect(ready(held.object)).toBe("Ready=False Unavailable");
    expect(held.result?.requeueAfterMs).toBe(30_000);
    world.advance(11 * 60_000);
    expect((await world.reconcile("ci-bot")).object).toBeUndefined();
    expect(world.events.at(-1)).toContain("Warning CleanupIncomplete: Gave up cleaning up");
  });

  test("a deletion looks into an open attempt first", async () => {
    world.console.faults.add({
      operation: "createServiceAccount",
      when: "afterCommit",
      action: { kind: "reset" },
    });
    await world.putAccount("ci-bot");
    await world.reconcile("ci-bot");
    await remove("ci-bot");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe(
      "Ready=False CreateOutcomeUnknown",
    );
    world.advance(30_000);
    expect((await world.reconcile("ci-bot")).object).toBeUndefined();
    expect(world.events.at(-1)).toContain("Normal Revoked");
  });

  test("a deletion finds the account that its status has lost, for those that wait as well", async () => {
    await world.putAccount("ci-bot");
    const { object } = await world.reconcile("ci-bot");
    const { saId = "", tpn = "" } = object?.status ?? {};
    world.console.world.replaceBindings(tpn, ["pol-p1-member"]);
    await world.putKey("key", "ci-bot");
    await remove("ci-bot");
    await world.wipeStatus("ci-bot");
    const held = await world.reconcile("ci-bot");
    expect(ready(held.object)).toBe("Ready=False InUse");
    expect(held.object?.status).toMatchObject({ saId, tpn, origin: "Created" });
    await world.wipeStatus("ci-bot");
    await world.kube.delete(apiKeyType, { namespace: world.namespace, name: "key" }, {});
    expect((await world.reconcile("ci-bot")).object).toBeUndefined();
    expect(world.console.world.boundTo(tpn)).toEqual([]);
    expect(world.events.at(-1)).toContain("Normal Revoked");
  });

  test("a deletion that cannot ask for a lost account ends, and says so", async () => {
    await world.putAccount("ci-bot");
    await world.reconcile("ci-bot");
    await remove("ci-bot");
    await world.wipeStatus("ci-bot");
    await world.console.faults.setReachability("unavailable");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=False Unavailable");
    world.advance(11 * 60_000);
    expect((await world.reconcile("ci-bot")).object).toBeUndefined();
    expect(world.events.at(-1)).toContain("Warning CleanupIncomplete: Gave up cleaning up");
  });

  test("Delete without a call for it is held and says what to set", async () => {
    await world.putAccount("ci-bot", { deletionPolicy: "Delete" });
    await world.reconcile("ci-bot");
    await remove("ci-bot");
    expect(ready((await world.reconcile("ci-bot")).object)).toBe("Ready=False DeleteNotPossible");
  });
});
