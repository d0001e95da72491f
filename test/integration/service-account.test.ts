import { describe, expect, test } from "vitest";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

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
const existing = (world: World, name = "old") =>
  world.iam.world.createAccount({ orgId: "org-1", projectId: "prj-1", name, description: "" });
/** What the account of `ci` is called at the console. */
const nameOf = (world: World) => `${world.namespace}-ci`;
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
    "deletes the account where the connection names the call",
    inWorld({ extraCalls: true }, async (world) => {
      const { saId } = await opened(world, { deletionPolicy: "Delete" });
      await world.delete("ServiceAccount", "ci");
      await world.isGone("ServiceAccount", "ci");
      expect(world.iam.world.accounts.has(saId)).toBe(false);
    }),
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
});
