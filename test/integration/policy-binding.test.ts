import { describe, expect, test } from "vitest";
import type { Shapes } from "../iam-server/shapes.ts";
import { SHAPE_VARIANTS } from "../iam-server/shapes.ts";
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
    "that come together take few writes, none of which takes anything away",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      const policies = ["pol-read", "pol-deploy", "pol-member", "pol-deny-delete", "pol-deny-list"];
      await world.operator?.stop();
      await Promise.all(policies.map((policyId) => bind(world, policyId, [policyId])));
      await world.start();
      for (const policyId of policies) await world.ready("PolicyBinding", policyId);
      expect(boundTo(world, tpn)).toEqual(policies.toSorted());
      expect(puts(world)).toBe(1);
      const status = (await world.get("ServiceAccount", "ci")).status?.bindings;
      expect(status).toMatchObject({ policyCount: policies.length });
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

  test(
    "wait for their account, and are bound once it is there",
    inWorld({}, async (world) => {
      await bind(world, "one", ["pol-read"]);
      await world.condition("PolicyBinding", "one", "Ready", "False", "WaitingForServiceAccount");
      const tpn = await opened(world);
      await world.ready("PolicyBinding", "one");
      expect(boundTo(world, tpn)).toEqual(["pol-read"]);
    }),
  );

  test(
    "leave things as they are while suspended",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      await bound(world, "one", "pol-read");
      await bind(world, "one", ["pol-deploy"], { suspend: true });
      await world.condition("PolicyBinding", "one", "Ready", "False", "Suspended");
      expect(boundTo(world, tpn)).toEqual(["pol-read"]);
      await bind(world, "one", ["pol-deploy"], { suspend: false });
      await world.ready("PolicyBinding", "one");
      expect(boundTo(world, tpn)).toEqual(["pol-deploy"]);
    }),
  );

  test(
    "leave their policies behind where that is asked for",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      await bind(world, "one", ["pol-read"], { deletionPolicy: "Retain" });
      await world.ready("PolicyBinding", "one");
      await end(world, "one");
      await bound(world, "two", "pol-deploy");
      expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-read"]);
    }),
  );

  test(
    "are deleted only once a console that is down is back and has unbound them",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      await bound(world, "one", "pol-read");
      await world.iam.faults.setReachability("unavailable");
      await world.delete("PolicyBinding", "one");
      await world.condition("PolicyBinding", "one", "Ready", "False");
      await world.iam.faults.setReachability("up");
      await world.isGone("PolicyBinding", "one", 40_000);
      expect(boundTo(world, tpn)).toEqual([]);
    }),
    60_000,
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

  test(
    "are removed where that is asked for",
    inWorld({}, async (world) => {
      const { saId, tpn } = imported(world, "pol-member");
      await opened(world, { saId, foreignPolicies: "Remove" });
      await bound(world, "one", "pol-read");
      expect(boundTo(world, tpn)).toEqual(["pol-read"]);
    }),
  );

  test(
    "are drift: what was taken away comes back, what was added is reported or removed",
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      await bound(world, "one", "pol-read", "pol-deploy");
      world.iam.world.replaceBindings(tpn, ["pol-read", "pol-member"]);
      await world.lookAgain("PolicyBinding", "one", "1");
      await world.until("the correction", () => world.iam.world.boundTo(tpn).length === 3);
      expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-member", "pol-read"]);
      await world.until("the event", async () =>
        (await world.events("ci")).some(({ reason }) => reason === "DriftCorrected"),
      );
      await world.serviceAccount("ci", { foreignPolicies: "Remove" });
      await world.lookAgain("PolicyBinding", "one", "2");
      await world.until("the removal", () => world.iam.world.boundTo(tpn).length === 2);
      expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-read"]);
    }),
  );
});

describe.concurrent("an answer that the description leaves open", () => {
  const readable = SHAPE_VARIANTS.bindings.filter((shape) => shape !== "unreadable");

  test.each(
    readable.flatMap((bindings) =>
      SHAPE_VARIANTS.syncAnswer.map((syncAnswer) => ({ bindings, syncAnswer })),
    ),
  )("about bindings ($bindings, sync $syncAnswer) leads to the same policies", (shapes) =>
    inWorld({ shapes }, async (world) => {
      const { saId, tpn } = imported(world, "pol-member");
      await opened(world, { saId });
      await bound(world, "one", "pol-read");
      await bound(world, "two", "pol-deploy");
      await end(world, "one");
      expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-member"]);
    })(),
  );

  test.each(["notFound", "emptyList"] as const)(
    "about a target without bindings (%s) is no obstacle",
    (unknownTarget) =>
      inWorld({ shapes: { unknownTarget } }, async (world) => {
        const tpn = await opened(world);
        await bound(world, "one", "pol-read");
        expect(boundTo(world, tpn)).toEqual(["pol-read"]);
      })(),
  );

  const unreadable: Partial<Shapes> = { bindings: "unreadable" };

  test(
    "and cannot be read does not stop bindings of an account that is ours",
    inWorld({ shapes: unreadable }, async (world) => {
      const tpn = await opened(world);
      await bound(world, "one", "pol-read");
      await bound(world, "two", "pol-deploy");
      await end(world, "one");
      expect(boundTo(world, tpn)).toEqual(["pol-deploy"]);
      const before = puts(world);
      await world.lookAgain("PolicyBinding", "two", "1");
      expect(puts(world)).toBe(before);
    }),
  );

  test(
    "and cannot be read stops writes to an imported account, until foreign policies may go",
    inWorld({ shapes: unreadable }, async (world) => {
      const { saId, tpn } = imported(world, "pol-member");
      await opened(world, { saId });
      await bind(world, "one", ["pol-read"]);
      await world.condition("PolicyBinding", "one", "Stalled", "True", "BindingsUnreadable");
      expect(await world.message("PolicyBinding", "one")).toMatch(/foreignPolicies: Remove/);
      expect(boundTo(world, tpn)).toEqual(["pol-member"]);
      expect(puts(world)).toBe(0);
      await world.serviceAccount("ci", { saId, foreignPolicies: "Remove" });
      await world.ready("PolicyBinding", "one");
      expect(boundTo(world, tpn)).toEqual(["pol-read"]);
    }),
  );
});

describe.concurrent("a policy that the console refuses", () => {
  test.each([
    { name: "of kind scp", policyId: "pol-scp-guardrail", shapes: {}, words: /kind scp/ },
    {
      name: "of kind scp, listed as a type",
      policyId: "pol-scp-guardrail",
      shapes: { policyKind: "type", policyId: "policyId" },
      words: /kind scp/,
    },
    { name: "unknown (404)", policyId: "pol-none", shapes: {}, words: /pol-none/ },
    {
      name: "unknown (422)",
      policyId: "pol-none",
      shapes: { unknownPolicy: "invalid" },
      words: /pol-none/,
    },
    {
      name: "without a word about why",
      policyId: "pol-none",
      shapes: { errorBody: "empty" },
      words: /pol-none/,
    },
  ] as const)(
    "($name) stalls its own object only, in the console's words",
    ({ policyId, shapes, words }) =>
      inWorld({ shapes }, async (world) => {
        const tpn = await opened(world);
        await world.operator?.stop();
        await bind(world, "bad", [policyId]);
        await bind(world, "one", ["pol-read"]);
        await bind(world, "two", ["pol-deploy"]);
        await world.start();
        await world.ready("PolicyBinding", "one");
        await world.ready("PolicyBinding", "two");
        await world.condition("PolicyBinding", "bad", "Stalled", "True", "PolicyRefused");
        expect(await world.message("PolicyBinding", "bad")).toMatch(words);
        expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-read"]);
        const before = puts(world);
        await world.lookAgain("ServiceAccount", "ci", "1");
        expect(puts(world)).toBe(before);
        await bound(world, "bad", "pol-member");
        expect(boundTo(world, tpn)).toEqual(["pol-deploy", "pol-member", "pol-read"]);
        await end(world, "bad");
      })(),
  );
});

describe.concurrent("a write of bindings", () => {
  test.each([
    { when: "beforeCommit", kind: "reset" },
    { when: "afterCommit", kind: "reset" },
    { when: "afterCommit", kind: "truncate" },
    { when: "afterCommit", kind: "garbage" },
  ] as const)("whose answer is lost ($when, $kind) comes right", ({ when, kind }) =>
    inWorld({}, async (world) => {
      const tpn = await opened(world);
      world.iam.world.replaceBindings(tpn, ["pol-member"]);
      world.iam.faults.add({ operation: "syncBindings", when, action: { kind } });
      await bound(world, "one", "pol-read");
      expect(boundTo(world, tpn)).toEqual(["pol-member", "pol-read"]);
      await end(world, "one");
      expect(boundTo(world, tpn)).toEqual(["pol-member"]);
    })(),
  );

  test.each(["beforeCommit", "afterCommit"] as const)(
    "in which the operator dies (%s) is made up for by the next one",
    (when) =>
      inWorld({}, async (world) => {
        const tpn = await opened(world);
        const hold = world.iam.faults.add({
          operation: "syncBindings",
          when,
          action: { kind: "hold" },
        });
        await bind(world, "one", ["pol-read"]);
        await hold.reached;
        await world.operator?.kill();
        hold.release();
        hold.remove();
        await world.start();
        await world.ready("PolicyBinding", "one");
        expect(boundTo(world, tpn)).toEqual(["pol-read"]);
        await end(world, "one");
        expect(boundTo(world, tpn)).toEqual([]);
      })(),
  );
});
