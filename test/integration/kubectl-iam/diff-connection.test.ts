/** `diff` of a connection, or of a label that its grants select, plans the objects that use it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { MINUTE } from "../../../src/util/time.ts";
import { inWorld } from "../../real-world/in-world.ts";
import { permit } from "../../real-world/permissions.ts";
import type { World } from "../../real-world/world.ts";
import {
  connectCluster,
  runAlone,
  servingAll,
  thenDisconnect,
} from "../../tenants/support/cluster-connection.ts";
import { runInProcess } from "../../unit/kubectl-iam/support/in-process.ts";
import { Plugin } from "../../unit/kubectl-iam/support/plugin.ts";
import { differ, object } from "./support/diff.ts";

runAlone();

const grants = ({ namespace }: World, ...policyIds: readonly string[]) => [
  { name: "team", namespaces: { names: [namespace] }, policyIds },
];

test(
  "a grant without a policy unbinds it from the accounts of the connection",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      const name = world.namespace;
      await connectCluster(world, grants(world, "pol-read", "pol-deploy"));
      const connectionRef = { kind: "ClusterConnection", name };
      await world.serviceAccount("bot", { connectionRef });
      const ref = { serviceAccountRef: { name: "bot" } };
      await world.apply("PolicyBinding", "bot", { ...ref, policyIds: ["pol-read", "pol-deploy"] });
      await world.serviceAccount("stuck", { connectionRef, saId: "sa-other" });
      await world.apiKey("bot-key", ref);
      await world.apply("ResourceQuotaExport", "quotas", { connectionRef, clusterId: 7 });
      await world.ready("PolicyBinding", "bot");
      await world.ready("ApiKey", "bot-key");
      const isStuck = "QuotaExportNotGranted";
      await world.condition("ResourceQuotaExport", "quotas", "Ready", "False", isStuck);
      await world.condition("ServiceAccount", "stuck", "Ready", "False", "NotGranted");
      const plugin = await Plugin.install(inject("controlPlane").kubeconfig, name);
      const file = join(plugin.folder, "connection.json");
      const { spec, apiVersion, kind } = await world.get("ClusterConnection", name);
      const diffOf = async (granted: readonly object[], ...args: readonly string[]) => {
        const changed = { ...spec, grants: granted };
        writeFileSync(
          file,
          JSON.stringify({ apiVersion, kind, metadata: { name }, spec: changed }),
        );
        const words = ["diff", "-f", file, "--kubeconfig", plugin.kubeconfig, ...args];
        const ended = await runInProcess([...words, "--operator-namespace", name]);
        world.logs.push(ended.output, ended.notes);
        return ended;
      };
      const diff = (policyIds: readonly string[], ...args: readonly string[]) =>
        diffOf(policyIds.length === 0 ? [] : grants(world, ...policyIds), ...args);
      try {
        const without = await diff(["pol-read"]);
        expect(without.output).toMatch(
          /^policies of iamsa\/bot +syncBindings +Unbinds pol-deploy \(deploy\)\.$/m,
        );
        expect(without.output.trim().split("\n")).toHaveLength(2);
        expect(without.notes).toContain(
          "iampb/bot would not be ready and would report PolicyNotGranted",
        );
        expect(without.notes).not.toContain("iamrq/quotas");
        expect(without.code).toBe(1);
        const elsewhere = await diff(["pol-read"], "-n", "elsewhere");
        expect(elsewhere.output).toContain(`${name}   policies of iamsa/bot`);
        expect(elsewhere.notes).toContain(`iampb/bot in namespace ${name} would not be`);
        const withMore = await diff(["pol-read", "pol-deploy", "pol-member"]);
        expect(withMore).toEqual({
          ...{ code: 0, output: "" },
          notes: "Nothing would change in the console.\n",
        });

        const [grant] = grants(world, "pol-read", "pol-deploy");
        const shortened = await diffOf([{ ...grant, maxExpiresInDays: 1 }]);
        expect(shortened).toMatchObject({ code: 1, output: "" });
        expect(shortened.notes).toContain(
          "iamkey/bot-key would keep its key, be issued no other key, and report LifetimeNotGranted: ",
        );

        const withdrawn = await diff([]);
        expect(withdrawn).toMatchObject({ code: 1, output: "" });
        expect(withdrawn.notes).toMatch(/^Nothing would change in the console at once\. /);
        expect(withdrawn.notes).toMatch(/pol-read, pol-deploy will be unbound at /);
        expect(withdrawn.notes).toContain(
          "iamrq/quotas would not be ready and would report NotGranted: ",
        );

        await permit(world.kube, name, "diff-admin", [
          { apiGroups: [""], resources: ["secrets"], verbs: ["get", "list"] },
        ]);
        const role = `diff-admin-${name}`;
        const resource = "--verb=get,list,patch --resource=clusterconnections.iam-operator.io";
        await plugin.shell(`kubectl create clusterrole ${role} ${resource}`);
        const subject = `--clusterrole=${role} --user=diff-admin`;
        await plugin.shell(`kubectl create clusterrolebinding ${role} ${subject}`);
        const canRead = "kubectl auth can-i get clusterconnections.iam-operator.io --as diff-admin";
        await world.until("the role", async () => (await plugin.shell(canRead)).code === 0);
        const unlisted = await diff(["pol-read"], "--as", "diff-admin");
        await plugin.shell(`kubectl delete clusterrole,clusterrolebinding ${role}`);
        expect(unlisted.notes).toMatch(/^What would change in the console is unknown\.$/m);
        expect(unlisted.notes).toContain(
          "what would change for the objects that use it is unknown: you do not have permission to list ",
        );
        expect(unlisted).toMatchObject({ code: 4, output: "" });
      } finally {
        plugin.remove();
      }
      await world.patch("ClusterConnection", name, { spec: { grants: grants(world, "pol-read") } });
      await world.condition("PolicyBinding", "bot", "Ready", "False", "PolicyNotGranted");
      const { tpn = "" } = (await world.get("ServiceAccount", "bot")).status ?? {};
      await world.until("the plan", () => world.iam.world.boundTo(tpn).join() === "pol-read");
    }),
  ),
  2 * MINUTE,
);

test(
  "a label that a grant selects decides about the users of the connection",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      const name = world.namespace;
      const byLabel = (grant: string, label: string, ...policyIds: readonly string[]) => ({
        ...{ name: grant, policyIds },
        namespaces: { selector: { matchLabels: { [label]: name } } },
      });
      await world.labelNamespace({ team: name });
      await connectCluster(world, [
        byLabel("by-label", "team", "pol-read"),
        byLabel("by-name", "kubernetes.io/metadata.name", "pol-deploy"),
      ]);
      const ref = { serviceAccountRef: { name: "bot" } };
      await world.serviceAccount("bot", { connectionRef: { kind: "ClusterConnection", name } });
      await world.apply("PolicyBinding", "bot", { ...ref, policyIds: ["pol-read", "pol-deploy"] });
      await world.apply("PolicyBinding", "other", { ...ref, policyIds: ["pol-deploy"] });
      await world.ready("PolicyBinding", "bot");
      await world.ready("PolicyBinding", "other");
      const plugin = await Plugin.install(inject("controlPlane").kubeconfig, name);
      const files = differ({ plugin, world });
      const args = `--operator-namespace ${name}`;
      const namespace = (team: string) => ({
        ...{ apiVersion: "v1", kind: "Namespace" },
        metadata: { name, labels: { team } },
      });
      try {
        expect(await files.diff([namespace(name)], args)).toMatchObject({ code: 0, output: "" });
        const { code, output, notes } = await files.diff([namespace("other")], args);
        expect(output).toMatch(
          /^policies of iamsa\/bot +syncBindings +Unbinds pol-read \(read\)\.$/m,
        );
        expect(notes).toContain("iampb/bot would not be ready and would report PolicyNotGranted");
        expect(notes).not.toContain("iampb/other");
        expect(code).toBe(1);
        await files.apply([namespace("other")]);
        const { tpn = "" } = (await world.get("ServiceAccount", "bot")).status ?? {};
        await world.until("the plan", () => world.iam.world.boundTo(tpn).join() === "pol-deploy");

        const set = [
          { apiVersion: "v1", kind: "Namespace", metadata: { name: `${name}-new` } },
          object(
            "ServiceAccount",
            "bot",
            { connectionRef: { kind: "ClusterConnection", name } },
            { namespace: `${name}-new` },
          ),
        ];
        await world.patch("ClusterConnection", name, {
          spec: {
            grants: [
              {
                ...byLabel("new", "kubernetes.io/metadata.name"),
                namespaces: {
                  selector: { matchLabels: { "kubernetes.io/metadata.name": `${name}-new` } },
                },
              },
            ],
          },
        });
        expect((await files.diff(set, args)).output).toMatch(/iamsa\/bot +createServiceAccount /);
      } finally {
        plugin.remove();
      }
    }),
  ),
  2 * MINUTE,
);
