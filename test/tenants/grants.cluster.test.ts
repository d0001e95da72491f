/** What a ClusterConnection's grants give to a namespace, on a real API server. */
import { describe, expect, test } from "vitest";
import { SEEDED } from "../../tools/iam-server/seed.ts";
import { inWorld } from "../integration/support/in-world.ts";
import type { World } from "../integration/support/world.ts";
import {
  connectCluster as connect,
  runAlone,
  servingAll,
  thenDisconnect,
} from "./support/cluster-connection.ts";

runAlone();

const binding = (...policyIds: readonly string[]) => ({
  serviceAccountRef: { name: "ci" },
  policyIds,
});

describe("a grant", () => {
  const grant = (world: World, changes: object = {}) => ({
    name: "granted",
    namespaces: { names: [world.namespace] },
    policyIds: ["pol-read"],
    ...changes,
  });
  const serviceAccount = (world: World, spec: object = {}) =>
    world.serviceAccount("ci", {
      connectionRef: { kind: "ClusterConnection", name: world.namespace },
      ...spec,
    });
  const inCluster = (body: (world: World) => Promise<void>) =>
    inWorld({ bare: true, config: servingAll }, (world) =>
      thenDisconnect(world, () => body(world)),
    );

  test(
    "serves no namespace without a grant, and one as soon as a label brings it in",
    inCluster(async (world) => {
      await connect(world, [
        grant(world, {
          namespaces: { selector: { matchLabels: { [`iam-${world.namespace}`]: "yes" } } },
        }),
      ]);
      await serviceAccount(world);
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "NotGranted");
      expect(await world.message("ServiceAccount", "ci")).toContain(world.namespace);
      expect(world.iam.requests.count("listServiceAccounts")).toBe(0);
      await world.labelNamespace({ [`iam-${world.namespace}`]: "yes" });
      await world.ready("ServiceAccount", "ci");
      // The grant goes again: nothing new is done.
      await world.labelNamespace({ [`iam-${world.namespace}`]: null });
      await world.condition("ServiceAccount", "ci", "Ready", "False", "NotGranted");
      await world.labelNamespace({ [`iam-${world.namespace}`]: "yes" });
      await world.ready("ServiceAccount", "ci");
    }),
  );

  test(
    "refuses a policy outside the grant before any call",
    inCluster(async (world) => {
      await connect(world, [grant(world)]);
      await serviceAccount(world);
      await world.ready("ServiceAccount", "ci");
      await world.apply("PolicyBinding", "deploy", binding("pol-deploy"));
      await world.condition("PolicyBinding", "deploy", "Stalled", "True", "PolicyNotGranted");
      expect(await world.message("PolicyBinding", "deploy")).toContain("pol-deploy");
      expect(world.iam.requests.count("syncBindings")).toBe(0);
      await world.apply("PolicyBinding", "read", binding("pol-read"));
      await world.ready("PolicyBinding", "read");
      const { tpn = "" } = (await world.get("ServiceAccount", "ci")).status ?? {};
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
      await connect(world, [grant(world, { policyIds: ["*"] })]);
      await world.ready("PolicyBinding", "deploy");
      // What is taken out of the grant is unbound; what is withdrawn under Never stays.
      await connect(world, [grant(world)]);
      await world.condition("PolicyBinding", "deploy", "Stalled", "True", "PolicyNotGranted");
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
      await connect(world, [grant(world, { policyIds: [] })], { withdrawalGracePeriod: "Never" });
      await world.condition("PolicyBinding", "read", "Stalled", "True", "PolicyNotGranted");
      expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);
    }),
  );

  const twoBound = async (world: World, spec: object = {}) => {
    await serviceAccount(world);
    await world.ready("ServiceAccount", "ci");
    await world.apply("PolicyBinding", "read", { ...binding("pol-read"), ...spec });
    await world.apply("PolicyBinding", "deploy", { ...binding("pol-deploy"), ...spec });
    await world.ready("PolicyBinding", "read");
    await world.ready("PolicyBinding", "deploy");
    const { tpn = "" } = (await world.get("ServiceAccount", "ci")).status ?? {};
    return () => [...world.iam.world.boundTo(tpn)].sort();
  };
  const both = ["pol-deploy", "pol-read"];

  test(
    "takes a policy back although the tenant has suspended everything or only plans",
    inCluster(async (world) => {
      const all = { policyIds: both };
      await connect(world, [grant(world, all)]);
      const bound = await twoBound(world);
      await serviceAccount(world, { suspend: true });
      await world.condition("ServiceAccount", "ci", "Ready", "True", "Suspended");
      await connect(world, [grant(world)]);
      await world.condition("PolicyBinding", "deploy", "Ready", "False", "ServiceAccountSuspended");
      await expect.poll(bound, { timeout: 10_000 }).toEqual(["pol-read"]);
      // Access is revoked behind the same suspension, and behind a plan.
      await world.annotate("ServiceAccount", "ci", { "iam-operator.io/plan-only": "true" });
      await serviceAccount(world, { suspend: true, access: "Revoked" });
      await expect.poll(bound, { timeout: 10_000 }).toEqual([]);
      await world.annotate("ServiceAccount", "ci", { "iam-operator.io/plan-only": "false" });
      await serviceAccount(world, { suspend: false });
    }),
  );

  test(
    "leaves nothing bound by Retain without the right to it",
    inCluster(async (world) => {
      await connect(world, [grant(world, { policyIds: both })]);
      const bound = await twoBound(world, { deletionPolicy: "Retain" });
      expect(await world.message("PolicyBinding", "read")).toContain("a deletion unbinds them");
      await world.delete("PolicyBinding", "read");
      await world.isGone("PolicyBinding", "read");
      expect(bound()).toEqual(["pol-deploy"]);
      await world.delete("PolicyBinding", "deploy");
      await world.patch("ServiceAccount", "ci", { spec: { deletionPolicy: "Retain" } });
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci");
      expect(bound()).toEqual([]);
    }),
  );

  test(
    "leaves what it allows to retain bound only until it is withdrawn",
    inCluster(async (world) => {
      await connect(world, [grant(world, { policyIds: both, retainPolicies: true })]);
      const bound = await twoBound(world, { deletionPolicy: "Retain" });
      await world.delete("PolicyBinding", "deploy");
      await world.isGone("PolicyBinding", "deploy");
      expect(bound()).toEqual(both);
      await connect(world, [grant(world, { retainPolicies: true })]);
      await expect.poll(bound, { timeout: 10_000 }).toEqual(["pol-read"]);
    }),
  );

  test(
    "takes everything back with itself, after the grace period, and names it before",
    inCluster(async (world) => {
      const label = { [`iam-${world.namespace}`]: "yes" };
      const labelled = { namespaces: { selector: { matchLabels: label } }, policyIds: both };
      await world.labelNamespace(label);
      await connect(world, [grant(world, labelled)], { withdrawalGracePeriod: "4s" });
      const bound = await twoBound(world);
      await world.labelNamespace({ [`iam-${world.namespace}`]: null });
      await world.condition("PolicyBinding", "read", "Stalled", "True", "NotGranted");
      expect(await world.message("PolicyBinding", "read")).toContain("pol-read will be unbound at");
      expect(bound()).toEqual(both);
      await expect.poll(bound, { timeout: 15_000 }).toEqual([]);
      // The label comes back, then the grant goes as a whole, at once.
      await world.labelNamespace(label);
      await world.ready("PolicyBinding", "read");
      await world.ready("PolicyBinding", "deploy");
      await connect(world, [], { withdrawalGracePeriod: "0s" });
      await expect.poll(bound, { timeout: 10_000 }).toEqual([]);
    }),
  );

  test(
    "refuses a grace period that is not one",
    inCluster(async (world) => {
      for (const withdrawalGracePeriod of ["never", "10", "200h"])
        await expect(connect(world, [grant(world)], { withdrawalGracePeriod })).rejects.toThrow(
          "must be Never, or a duration of at most 168h",
        );
      await connect(world, [grant(world)], { withdrawalGracePeriod: "Never" });
    }),
  );

  test(
    "refuses keys that live longer than the grant allows, and imports without the right",
    inCluster(async (world) => {
      await connect(world, [grant(world, { maxExpiresInDays: 30 })]);
      await serviceAccount(world);
      await world.ready("ServiceAccount", "ci");
      await world.apiKey("long", { expiresInDays: 31 });
      await world.condition("ApiKey", "long", "Ready", "False");
      expect(await world.message("ApiKey", "long")).toMatch(/30/);
      expect(world.iam.requests.count("issueKey")).toBe(0);
      await world.apiKey("key", { expiresInDays: 30 });
      await world.ready("ApiKey", "key");
    }),
  );

  test(
    "grants imports only where it says so",
    inCluster(async (world) => {
      const { saId } = world.iam.world.createAccount({
        orgId: "org-1",
        projectId: "prj-1",
        name: "old",
        description: "",
      });
      await connect(world, [grant(world)]);
      await serviceAccount(world, { saId });
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "NotGranted");
      expect(world.iam.requests.count("getServiceAccount")).toBe(0);
      await connect(world, [grant(world, { importServiceAccounts: true })]);
      await world.ready("ServiceAccount", "ci");
    }),
  );

  const labelOf = (world: World) => `iam-${world.namespace}`;
  const notLabelled = (world: World) => ({
    matchExpressions: [{ key: labelOf(world), operator: "NotIn", values: ["no"] }],
  });

  test(
    "by expressions serves the namespaces they select and no other",
    inCluster(async (world) => {
      await world.labelNamespace({ [labelOf(world)]: "no" });
      await connect(world, [grant(world, { namespaces: { selector: notLabelled(world) } })]);
      await serviceAccount(world);
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "NotGranted");
      await world.labelNamespace({ [labelOf(world)]: "yes" });
      await world.ready("ServiceAccount", "ci");
    }),
  );

  test(
    "serves every namespace only where it says all: true, never by leaving something out",
    inCluster(async (world) => {
      const toAll = (namespaces: object) => connect(world, [grant(world, { namespaces })]);
      for (const selector of [{}, { matchLabels: {}, matchExpressions: [] }])
        await expect(toAll({ selector })).rejects.toThrow("write all: true");
      await expect(toAll({ all: false })).rejects.toThrow("all: true for every namespace");
      await toAll({ all: true });
      await serviceAccount(world);
      await world.ready("ServiceAccount", "ci");
    }),
  );

  test(
    "shows no cluster's quotas to a tenant, unless it names the cluster",
    inCluster(async (world) => {
      const { clusterId } = SEEDED;
      const connectionRef = { kind: "ClusterConnection", name: world.namespace };
      const exported = (spec: object = {}) =>
        world.apply("ResourceQuotaExport", "quotas", { connectionRef, clusterId, ...spec });
      const listings = () => world.iam.requests.count("listResourceQuotas");
      await connect(world, [grant(world, { quotaExports: [clusterId + 1] })]);
      await exported();
      const reason = "QuotaExportNotGranted";
      await world.condition("ResourceQuotaExport", "quotas", "Stalled", "True", reason);
      expect(listings()).toBe(0);
      await connect(world, [grant(world, { quotaExports: [clusterId] })]);
      await world.ready("ResourceQuotaExport", "quotas");
      expect(listings()).toBe(1);
    }),
  );

  test(
    "bounds how many accounts and keys a namespace has, and in which projects",
    inCluster(async (world) => {
      await connect(world, [grant(world, { maxServiceAccounts: 1, maxIssuesPerDay: 2 })]);
      await serviceAccount(world);
      await world.ready("ServiceAccount", "ci");
      const connectionRef = { kind: "ClusterConnection", name: world.namespace };
      await world.serviceAccount("deploy", { connectionRef });
      const tooMany = "TooManyServiceAccounts";
      await world.condition("ServiceAccount", "deploy", "Stalled", "True", tooMany);
      await world.serviceAccount("read", { connectionRef, projectId: "prj-2" });
      await world.condition("ServiceAccount", "read", "Stalled", "True", "ProjectNotGranted");
      expect(world.iam.requests.count("createServiceAccount")).toBe(1);

      await world.apiKey("key");
      await world.ready("ApiKey", "key");
      // A key that is gone has been issued all the same.
      await world.apiKey("long");
      await world.ready("ApiKey", "long");
      await world.delete("ApiKey", "long");
      await world.isGone("ApiKey", "long");
      await world.annotate("ApiKey", "key", { "iam-operator.io/rotate-requested-at": "now" });
      const spent = "NamespaceBudgetExceeded";
      await world.condition("ApiKey", "key", "IssuanceAllowed", "False", spent);
      expect(world.iam.requests.count("issueKey")).toBe(2);
    }),
  );
});
