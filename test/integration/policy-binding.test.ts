import { describe, expect, test } from "vitest";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

const opened = async (world: World, spec: object = {}) => {
  await world.serviceAccount("ci", spec);
  await world.ready("ServiceAccount", "ci");
  return (await world.get("ServiceAccount", "ci")).status?.tpn ?? "";
};
const bind = (world: World, name: string, policyIds: readonly string[], spec: object = {}) =>
  world.apply("PolicyBinding", name, { serviceAccountRef: { name: "ci" }, policyIds, ...spec });
const bound = async (world: World, name: string, ...policyIds: readonly string[]) => {
  await bind(world, name, policyIds);
  await world.ready("PolicyBinding", name);
};
const end = async (world: World, name: string) => {
  await world.delete("PolicyBinding", name);
  await world.isGone("PolicyBinding", name);
};
const puts = (world: World) => world.iam.requests.count("syncBindings");
const boundTo = (world: World, tpn: string) => world.iam.world.boundTo(tpn).toSorted();
const imported = (world: World, ...policyIds: readonly string[]) => {
  const account = world.iam.world.createAccount({
    orgId: "org-1",
    projectId: "prj-1",
    name: "old",
    description: "",
  });
  world.iam.world.replaceBindings(account.tpn, policyIds);
  return account;
};

describe.concurrent("PolicyBindings of one account", () => {
  test(
    "add up, as RoleBindings do, and each takes back only its own",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      await bound(world, "one", "pol-read", "pol-deploy");
      await bound(world, "two", "pol-read", "pol-member");
      expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-member", "pol-read"]);
      await end(world, "one");
      expect(boundTo(world, tpn)).toEqual(["pol-member", "pol-read"]);
      await bound(world, "two", "pol-read");
      expect(boundTo(world, tpn)).toEqual(["pol-read"]);
      await end(world, "two");
      expect(boundTo(world, tpn)).toEqual([]);
    }),
  );

  test(
    "are not written again by a restart",
    inWorld({}, async (world) => {
      await opened(world);
      await bound(world, "one", "pol-read");
      await world.operator?.stop();
      const before = puts(world);
      await world.start();
      await world.lookAgain("PolicyBinding", "one", "1");
      await world.lookAgain("ServiceAccount", "ci", "1");
      expect(puts(world)).toBe(before);
    }),
  );
});

describe.concurrent("policies that somebody else bound", () => {
  test(
    "are kept, and named in the status",
    inWorld({}, async (world) => {
      const { saId, tpn } = imported(world, "pol-member");
      await opened(world, { saId });
      await bound(world, "one", "pol-read");
      expect(boundTo(world, tpn)).toEqual(["pol-member", "pol-read"]);
      const { status } = await world.get("ServiceAccount", "ci");
      expect(status?.bindings?.foreignPolicyIds).toEqual(["pol-member"]);
      await end(world, "one");
      expect(boundTo(world, tpn)).toEqual(["pol-member"]);
    }),
  );
});
