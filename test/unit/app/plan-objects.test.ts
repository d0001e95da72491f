import { afterEach, beforeEach, expect, test } from "vitest";
import { planObjects } from "../../../src/app/plan/plan-objects.ts";
import { toKubeReader } from "../../../src/kube/client/reader.ts";
import {
  clusterConnectionType,
  policyBindingType,
  secretType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../../tools/iam-server/server.ts";
import { MemoryCluster } from "../../support/memory-cluster.ts";

const { orgId, projectId, orgName: domainName } = SEEDED;
const login = Object.entries(DEFAULT_CREDENTIALS).map(([name, value]) => [name, btoa(value)]);
const MUTATING = /^(unknown|createServiceAccount|issueKey|syncBindings)$/;
let console: IamServer;
let cluster: MemoryCluster;

beforeEach(async () => {
  console = await startIamServer({ clock: systemClock });
  cluster = new MemoryCluster(systemClock);
  cluster.put(secretType, {
    metadata: { name: "login", namespace: "team" },
    data: Object.fromEntries(login),
  });
  const access = { namespaces: { names: ["team"] }, policyIds: ["*"] };
  const spec = {
    ...{ baseURL: console.url, insecureHTTP: true, orgId, projectId, domainName },
    credentials: { login: { secretRef: { name: "login" } } },
    grants: [{ name: "all", ...access }],
  };
  cluster.put(clusterConnectionType, { metadata: { name: "default" }, spec });
});
afterEach(() => console.close());

const object = (kind: string, name: string, spec: object) => ({
  apiVersion: "iam-operator.io/v1alpha1",
  kind,
  metadata: { name, namespace: "team" },
  spec,
});
const ref = { serviceAccountRef: { name: "bot" } };
const plansOf = (objects: readonly ReturnType<typeof object>[]) =>
  planObjects({
    kube: toKubeReader(cluster.client),
    objects,
    operatorNamespace: "team",
    userAgent: "test",
    egressFor: () => ({}),
    clock: systemClock,
    random: systemRandom,
    signal: AbortSignal.timeout(60_000),
  });
const plan = async (objects: readonly ReturnType<typeof object>[]) => {
  const plans = await plansOf(objects);
  const calls = plans.flatMap(({ calls }) =>
    calls.map(({ call, object: about }) => `${call} ${about}`),
  );
  return { calls, obstacles: plans.flatMap(({ obstacle }) => obstacle ?? []) };
};

test("what belongs together is planned as a whole, several keys of one new account as well", async () => {
  expect(
    await plan([
      object("ApiKey", "one", ref),
      object("ApiKey", "two", ref),
      object("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] }),
      object("ServiceAccount", "bot", {}),
    ]),
  ).toEqual({
    calls: [
      "createServiceAccount team-bot",
      "syncBindings tpn:new:sa/new:team-bot",
      "issueKey new:team-bot",
      "writeSecret team/one",
      "issueKey new:team-bot",
      "writeSecret team/two",
    ],
    obstacles: [],
  });
  const { all } = console.requests;
  expect(all.filter(({ operation }) => MUTATING.test(operation ?? "unknown"))).toEqual([]);
  expect(cluster.writes).toEqual([]);
});

test("revoking access of an account unbinds its policies", async () => {
  const account = { orgId, projectId, name: "team-bot", description: "" };
  const { saId, tpn } = console.world.createAccount(account);
  console.world.replaceBindings(tpn, ["pol-read"]);
  cluster.put(serviceAccountType, {
    ...object("ServiceAccount", "bot", {}),
    status: { saId, tpn, consoleURL: console.url },
  });
  cluster.put(policyBindingType, {
    ...object("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] }),
    status: { appliedPolicyIds: ["pol-read"] },
  });
  expect(await plan([object("ServiceAccount", "bot", { access: "Revoked" })])).toEqual({
    calls: [`syncBindings ${tpn}`],
    obstacles: [expect.stringMatching(/^AccessRevoked: /)],
  });
});

test("an account that the console no longer has is told for its PolicyBindings, too", async () => {
  const status = { saId: "sa-gone", tpn: "tpn:gone", consoleURL: console.url, ownership: "Owned" };
  const account = object("ServiceAccount", "bot", {});
  const binding = object("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] });
  const policies = [{ policyId: "pol-read", state: "Declared" }];
  cluster.put(serviceAccountType, {
    ...account,
    status: { ...status, bindings: { policyCount: 1, policies } },
  });
  cluster.put(policyBindingType, { ...binding, status: { appliedPolicyIds: ["pol-read"] } });
  expect(await plan([account, binding])).toEqual({
    calls: [],
    obstacles: [
      expect.stringMatching(/^ServiceAccountGone: /),
      expect.stringMatching(/^WaitingForServiceAccount: The console no longer has/),
    ],
  });
});

test("a refusal that a PolicyBinding already reports is not repeated", async () => {
  const account = { orgId, projectId, name: "team-bot", description: "" };
  const { saId, tpn } = console.world.createAccount(account);
  const bot = object("ServiceAccount", "bot", {});
  const record = { lastSyncTime: "2026-01-01T00:00:00Z", policies: [], policyCount: 0 };
  cluster.put(serviceAccountType, {
    ...bot,
    status: { saId, tpn, consoleURL: console.url, bindings: record },
  });
  const ready = {
    ...{ type: "Ready", status: "False", reason: "PolicyRefused", observedGeneration: 1 },
    ...{
      message: "The console refused to bind pol-x: no such policy.",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    },
  };
  cluster.put(policyBindingType, {
    ...object("PolicyBinding", "read", { ...ref, policyIds: ["pol-x"] }),
    status: { observedGeneration: 1, appliedPolicyIds: [], conditions: [ready] },
  });
  const binding = (await plansOf([bot])).find(({ kind }) => kind === "PolicyBinding");
  expect(binding).toMatchObject({
    isReported: true,
    obstacle: expect.stringMatching(/^PolicyRefused/),
  });
});

test("a second account with the same name is not planned", async () => {
  expect(
    await plan([
      object("ServiceAccount", "one", { name: "shared" }),
      object("ServiceAccount", "two", { name: "shared" }),
    ]),
  ).toEqual({
    calls: ["createServiceAccount shared"],
    obstacles: [expect.stringMatching(/^AccountExists: /)],
  });
});

test("nothing is planned for an object that the operator only plans for", async () => {
  const annotations = { "iam-operator.io/plan-only": "true" };
  const planOnly = (given: ReturnType<typeof object>) => ({
    ...given,
    metadata: { ...given.metadata, annotations },
  });
  const account = object("ServiceAccount", "bot", {});
  const read = object("PolicyBinding", "read", { ...ref, policyIds: ["pol-read"] });
  const deploy = object("PolicyBinding", "deploy", { ...ref, policyIds: ["pol-deploy"] });
  expect(
    await plan([account, planOnly(read), deploy, planOnly(object("ApiKey", "one", ref))]),
  ).toEqual({
    calls: ["createServiceAccount team-bot"],
    obstacles: Array(3).fill(expect.stringMatching(/^PlanOnly: /)),
  });
  expect(await plan([planOnly(account), deploy])).toEqual({
    calls: [],
    obstacles: [
      expect.stringMatching(/^PlanOnly: /),
      expect.stringMatching(/^WaitingForServiceAccount: /),
    ],
  });
});

test("of two new ApiKeys with the same Secret, the first of the files gets a key", async () => {
  const names = ["z", "a", "m"];
  const shared = names.map((name, index) => {
    const key = object("ApiKey", name, { ...ref, secret: { name: "shared" } });
    // A dry run returns a random uid.
    return { ...key, metadata: { ...key.metadata, uid: String(9 - index) } };
  });
  expect(await plan([object("ServiceAccount", "bot", {}), ...shared])).toEqual({
    calls: ["createServiceAccount team-bot", "issueKey new:team-bot", "writeSecret team/shared"],
    obstacles: Array(2).fill(expect.stringMatching(/^SecretConflict: .* belongs to ApiKey z:/)),
  });
});

test("an account that a ServiceAccount of another namespace manages is not imported", async () => {
  const description = "made outside the operator";
  const { saId } = console.world.createAccount({ orgId, projectId, name: "shared", description });
  cluster.edit(clusterConnectionType, { namespace: "", name: "default" }, (connection) => {
    (connection.spec as { grants: object[] }).grants = [
      { name: "all", namespaces: { names: ["team"] }, importServiceAccounts: true },
    ];
  });
  const importing = object("ServiceAccount", "bot", { saId });
  expect(await plan([importing])).toEqual({ calls: [], obstacles: [] });
  cluster.put(serviceAccountType, {
    ...object("ServiceAccount", "owner", { saId }),
    metadata: { name: "owner", namespace: "other", creationTimestamp: "2020-01-01T00:00:00Z" },
    status: { saId, consoleURL: console.url },
  });
  expect(await plan([importing])).toEqual({
    calls: [],
    obstacles: [expect.stringMatching(/^AlreadyClaimed: .* ServiceAccount other\/owner/)],
  });
});
