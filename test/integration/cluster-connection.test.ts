import { expect, test } from "vitest";
import { inWorld } from "../real-world/in-world.ts";
import {
  connectCluster,
  runAlone,
  servingAll,
  thenDisconnect,
} from "../tenants/support/cluster-connection.ts";

runAlone();

test(
  "a ClusterConnection serves a namespace while its labels match a grant, and takes back what the grant gave",
  inWorld({ bare: true, config: servingAll }, (world) =>
    thenDisconnect(world, async () => {
      const label = `iam-${world.namespace}`;
      const setLabel = (value: string) => world.labelNamespace({ [label]: value });
      const grant = (...policyIds: readonly string[]) => {
        const matchExpressions = [{ key: label, operator: "In", values: ["yes"] }];
        return [{ name: "labelled", namespaces: { selector: { matchExpressions } }, policyIds }];
      };
      await connectCluster(world, grant("pol-read"));
      const connectionRef = { kind: "ClusterConnection", name: world.namespace };
      await world.serviceAccount("ci", { connectionRef });
      await world.condition("ServiceAccount", "ci", "Stalled", "True", "NotGranted");
      expect(world.iam.requests.count("listServiceAccounts")).toBe(0);
      await setLabel("yes");
      await world.ready("ServiceAccount", "ci");

      const { tpn = "" } = (await world.get("ServiceAccount", "ci")).status ?? {};
      const bound = () => world.iam.world.boundTo(tpn).toSorted();
      const bind = (name: string, policyId: string) =>
        world.apply("PolicyBinding", name, {
          serviceAccountRef: { name: "ci" },
          policyIds: [policyId],
        });
      await bind("read", "pol-read");
      await bind("deploy", "pol-deploy");
      await world.ready("PolicyBinding", "read");
      await world.condition("PolicyBinding", "deploy", "Stalled", "True", "PolicyNotGranted");
      await connectCluster(world, grant("pol-read", "pol-deploy"), { withdrawalGracePeriod: "4s" });
      await world.ready("PolicyBinding", "deploy");
      expect(bound()).toEqual(["pol-deploy", "pol-read"]);

      await setLabel("no");
      await world.condition("PolicyBinding", "read", "Stalled", "True", "NotGranted");
      expect(await world.message("PolicyBinding", "read")).toContain("pol-read will be unbound at");
      await world.until("the policies to be unbound", () => bound().length === 0);
      await setLabel("yes");
      await world.ready("PolicyBinding", "deploy");
      await world.delete("ClusterConnection", world.namespace);
      await world.condition("ClusterConnection", world.namespace, "Ready", "False", "InUse");
    }),
  ),
);
