import { expect, test } from "vitest";
import { inWorld } from "../real-world/in-world.ts";

test(
  "PolicyBindings of one account add up, each takes back only its own, and a restart writes nothing",
  inWorld({}, async (world) => {
    const account = { orgId: "org-1", projectId: "prj-1", name: "old", description: "" };
    const { saId, tpn } = world.iam.world.createAccount(account);
    const bound = () => world.iam.world.boundTo(tpn).toSorted();
    const bind = async (name: string, ...policyIds: readonly string[]) => {
      const spec = { serviceAccountRef: { name: "ci" }, policyIds };
      await world.apply("PolicyBinding", name, spec);
      await world.ready("PolicyBinding", name);
    };
    const unbind = async (name: string) => {
      await world.delete("PolicyBinding", name);
      await world.isGone("PolicyBinding", name);
    };
    world.iam.world.replaceBindings(tpn, ["pol-member"]);
    await world.serviceAccount("ci", { saId });
    await bind("one", "pol-read", "pol-deploy");
    await bind("two", "pol-read", "pol-deny-list");
    expect(bound()).toEqual(["pol-deny-list", "pol-deploy", "pol-member", "pol-read"]);
    const { status } = await world.get("ServiceAccount", "ci");
    expect(status?.bindings?.policies).toEqual([
      { policyId: "pol-read", state: "Declared" },
      { policyId: "pol-deploy", state: "Declared" },
      { policyId: "pol-deny-list", state: "Declared" },
      { policyId: "pol-member", state: "Foreign" },
    ]);

    await world.manager?.stop();
    const before = world.iam.requests.count("syncBindings");
    await world.start();
    await world.reconcile("PolicyBinding", "one", "1");
    await world.reconcile("ServiceAccount", "ci", "1");
    expect(world.iam.requests.count("syncBindings")).toBe(before);

    await unbind("one");
    expect(bound()).toEqual(["pol-deny-list", "pol-member", "pol-read"]);
    await bind("two", "pol-read");
    expect(bound()).toEqual(["pol-member", "pol-read"]);
    await unbind("two");
    expect(bound()).toEqual(["pol-member"]);
  }),
);
