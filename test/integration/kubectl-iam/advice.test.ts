/** What `kubectl iam status` and `doctor` advise is done, on a real API server, and the object becomes ready. */
import { expect, inject, test } from "vitest";
import { secretType } from "../../../src/kube/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import { inWorld } from "../../real-world/in-world.ts";
import type { World } from "../../real-world/world.ts";
import {
  connectCluster,
  runAlone,
  servingAll,
  thenDisconnect,
} from "../../tenants/support/cluster-connection.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";

runAlone();

async function run(world: World, command: string, object: string): Promise<string> {
  const words = [command, object, "-n", world.namespace];
  const ended = await runInProcess([...words, "--kubeconfig", inject("controlPlane").kubeconfig]);
  world.logs.push(ended.output, ended.notes);
  return ended.output;
}

async function nextOf(world: World, object: string): Promise<string> {
  return /^Next +(.*)$/m.exec(await run(world, "status", object))?.[1] ?? "";
}

const grantOf = ({ namespace }: World) => ({
  name: "team",
  namespaces: { names: [namespace] },
  policyIds: ["*"],
});

test(
  "a removed grant is added again",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      const { namespace } = world;
      const connectionRef = { kind: "ClusterConnection", name: namespace };
      await connectCluster(world, [grantOf(world)]);
      await world.serviceAccount("ci-bot", { connectionRef });
      const ref = { serviceAccountRef: { name: "ci-bot" } };
      await world.apply("PolicyBinding", "ci-bot", { ...ref, policyIds: ["pol-read"] });
      await world.apiKey("key", ref);
      await world.ready("ApiKey", "key");
      await world.ready("PolicyBinding", "ci-bot");
      await world.patch("ClusterConnection", namespace, { spec: { grants: [] } });
      await world.condition("ServiceAccount", "ci-bot", "Ready", "False", "NotGranted");
      await world.condition("PolicyBinding", "ci-bot", "Ready", "False", "NotGranted");
      await world.condition("ApiKey", "key", "IssuanceAllowed", "False", "ServiceAccountNotReady");
      const advice = new RegExp(
        `Ask the administrator of ClusterConnection ${namespace} .*or to add a grant to spec\\.grants\\.$`,
      );
      for (const object of ["iamsa/ci-bot", "iampb/ci-bot", "iamkey/key"])
        expect(await nextOf(world, object)).toMatch(advice);
      expect(await nextOf(world, "iamkey/key")).toMatch(/^iamsa\/ci-bot reports NotGranted\. /);
      await world.patch("ClusterConnection", namespace, { spec: { grants: [grantOf(world)] } });
      await world.ready("ServiceAccount", "ci-bot");
      await world.ready("PolicyBinding", "ci-bot");
      await world.condition("ApiKey", "key", "IssuanceAllowed", "True", "Allowed");
      expect(await nextOf(world, "iamkey/key")).toMatch(/^Nothing: the key is renewed/);
    }),
  ),
  2 * MINUTE,
);

test(
  "an object whose spec is not granted is created again without the field",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      const connectionRef = { kind: "ClusterConnection", name: world.namespace };
      await connectCluster(world, [grantOf(world)]);
      const cases: readonly (readonly [string, string, object])[] = [
        ["import", "NotGranted", { saId: "sa-other" }],
        ["project", "ProjectNotGranted", { projectId: SEEDED.otherProjectId }],
        ["organization", "OrganizationMismatch", { orgId: SEEDED.otherOrgId }],
        ["connection", "ConnectionNotFound", { connectionRef: { ...connectionRef, name: "none" } }],
      ];
      for (const [name, reason, fields] of cases) {
        await world.serviceAccount(name, { connectionRef, ...fields });
        await world.condition("ServiceAccount", name, "Ready", "False", reason);
        expect(await nextOf(world, `iamsa/${name}`)).toMatch(/create this object again/i);
        await world.delete("ServiceAccount", name);
        await world.isGone("ServiceAccount", name);
        await world.serviceAccount(name, { connectionRef });
        await world.ready("ServiceAccount", name);
      }
    }),
  ),
  2 * MINUTE,
);

test(
  "the Secret of another owner is not repaired, but replaced as its ApiKey reports",
  inWorld({}, async (world) => {
    await world.serviceAccount("ci");
    await world.writeSecret("taken", { keyId: "sak_other", secret: "other" });
    await world.apiKey("taken");
    await world.condition("ApiKey", "taken", "Ready", "False", "SecretConflict");
    const found = await run(world, "doctor", "taken");
    expect(found).toMatch(/^failed +secret\/taken +it holds key sak_other, /m);
    expect(found).toContain(await world.message("ApiKey", "taken"));
    expect(found).not.toContain("The operator repairs it");
    expect(found).toContain("kubectl label secret");
    const label = { "iam-operator.io/api-key": "taken" };
    await world.kube.mergePatch(
      secretType,
      { namespace: world.namespace, name: "taken" },
      { metadata: { labels: label } },
    );
    await world.patch("ApiKey", "taken", { spec: { secret: { onExisting: "Adopt" } } });
    await world.ready("ApiKey", "taken");
    expect(await run(world, "doctor", "taken")).toMatch(/^ok +secret\/taken /m);
    expect(await world.holdsLivePair("taken")).toBe(true);
  }),
  MINUTE,
);
