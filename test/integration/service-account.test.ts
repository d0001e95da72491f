import { expect, test } from "vitest";
import { inWorld } from "../real-world/in-world.ts";

test(
  "a ServiceAccount creates an account, revokes and restores its access, and leaves nothing bound",
  inWorld({}, async (world) => {
    await world.serviceAccount("ci", { description: "for CI" });
    await world.ready("ServiceAccount", "ci");
    const {
      saId = "",
      tpn = "",
      ...status
    } = (await world.get("ServiceAccount", "ci")).status ?? {};
    expect(status).toMatchObject({ state: "active", origin: "Created", liveKeyIds: [] });
    expect(world.iam.world.accounts.get(saId)).toMatchObject({
      name: `${world.namespace}-ci`,
      orgId: "org-1",
      projectId: "prj-1",
      description: expect.stringMatching(new RegExp(`^for CI k8s ${world.namespace}/ci#[\\w-]+$`)),
    });
    expect(world.iam.requests.count("createServiceAccount")).toBe(1);

    const spec = { serviceAccountRef: { name: "ci" }, policyIds: ["pol-read"] };
    await world.apply("PolicyBinding", "read", spec);
    await world.ready("PolicyBinding", "read");
    world.iam.world.replaceBindings(tpn, ["pol-read", "pol-member"]);
    await world.serviceAccount("ci", { access: "Revoked" });
    await world.until("nothing to be bound", () => world.iam.world.boundTo(tpn).length === 0);
    await world.condition("PolicyBinding", "read", "Ready", "False", "AccessRevoked");
    await world.condition("ServiceAccount", "ci", "AccessRevoked", "True", "AccessRevoked");
    await world.serviceAccount("ci", { access: "Granted" });
    await world.ready("PolicyBinding", "read");
    expect(world.iam.world.boundTo(tpn)).toEqual(["pol-read"]);

    await world.delete("ServiceAccount", "ci");
    await world.condition("ServiceAccount", "ci", "Ready", "False", "InUse");
    await world.delete("PolicyBinding", "read");
    await world.isGone("ServiceAccount", "ci");
    expect(world.iam.world.boundTo(tpn)).toEqual([]);
    expect(world.iam.world.accounts.has(saId)).toBe(true);
    const reasons = async () => (await world.events("ci")).map(({ reason }) => reason);
    await world.until("the last event", async () => (await reasons()).includes("Revoked"));
    expect(await reasons()).toContain("Created");
  }),
);
