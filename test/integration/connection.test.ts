import { describe, expect, test } from "vitest";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

/** Secrets are not watched: an unready connection looks at its own about every 12 s. */
const CHECK_MS = 40_000;

const logins = (world: World) => world.iam.requests.count("login");

describe.concurrent("the login of a Connection", () => {
  test(
    "makes it ready, once",
    inWorld({}, async (world) => {
      await world.condition("Connection", "console", "Authenticated", "True");
      await world.ready("Connection", "console");
      const { status } = await world.get("Connection", "console");
      expect(status?.lastAuthenticationTime).toMatch(/Z$/);
      await world.serviceAccount("ci");
      await world.ready("ServiceAccount", "ci");
      expect(logins(world)).toBe(1);
    }),
  );

  test(
    "is renewed once when the token has expired, and nothing fails",
    inWorld({}, async (world) => {
      await world.serviceAccount("ci");
      await world.ready("ServiceAccount", "ci");
      const before = world.iam.requests.count("getServiceAccount");
      world.iam.world.revokeTokens();
      await world.lookAgain("ServiceAccount", "ci", "one");
      await world.ready("ServiceAccount", "ci");
      expect(logins(world)).toBe(2);
      expect(world.iam.requests.count("getServiceAccount") - before).toBe(2);
      expect(await world.events("ci")).not.toContainEqual(
        expect.objectContaining({ type: "Warning" }),
      );
    }),
  );
});

describe.concurrent("a console that is down", () => {
  test.each(["refuse", "reset"] as const)(
    "later (%s) costs no object its state",
    (reachability) =>
      inWorld({}, async (world) => {
        await world.serviceAccount("ci");
        await world.apiKey("key");
        await world.apply("PolicyBinding", "read", binding("pol-read"));
        await world.ready("ApiKey", "key");
        await world.ready("PolicyBinding", "read");
        const before = await Promise.all([world.entries("key"), world.get("ApiKey", "key")]);
        await world.iam.faults.setReachability(reachability);
        for (const kind of ["ServiceAccount", "PolicyBinding", "ApiKey"] as const) {
          const name = { ServiceAccount: "ci", PolicyBinding: "read", ApiKey: "key" }[kind];
          await world.annotate(kind, name, { "iam-operator.io/reconcile-requested-at": "1" });
        }
        await world.until(
          "passes over the key",
          async () => (await world.get("ApiKey", "key")).status?.lastHandledReconcileAt === "1",
        );
        expect(await world.entries("key")).toEqual(before[0]);
        await world.ready("ApiKey", "key");
        expect((await world.get("ApiKey", "key")).status?.current).toEqual(
          before[1].status?.current,
        );
        await world.iam.faults.setReachability("up");
        for (const [kind, name] of [
          ["ServiceAccount", "ci"],
          ["PolicyBinding", "read"],
          ["ApiKey", "key"],
        ] as const)
          await world.until(
            `${kind} to answer`,
            async () => {
              const { status } = await world.get(kind, name);
              return (
                status?.lastHandledReconcileAt === "1" && status.conditions?.[0]?.status === "True"
              );
            },
            CHECK_MS,
          );
        expect(world.iam.requests.count("createServiceAccount")).toBe(1);
        expect(world.iam.requests.count("issueKey")).toBe(1);
        expect(world.iam.requests.count("syncBindings")).toBe(1);
      })(),
    120_000,
  );
});

describe.concurrent("a Connection", () => {
  test(
    "in use is not deleted, and names its users",
    inWorld({}, async (world) => {
      await world.serviceAccount("ci");
      await world.ready("ServiceAccount", "ci");
      await world.delete("Connection", "console");
      await world.condition("Connection", "console", "Ready", "False", "InUse");
      expect(await world.message("Connection", "console")).toContain(
        `ServiceAccount ${world.namespace}/ci`,
      );
      // What it is needed for still works.
      await world.apiKey("key");
      await world.ready("ApiKey", "key");
      await world.delete("ApiKey", "key");
      await world.delete("ServiceAccount", "ci");
      await world.isGone("Connection", "console");
    }),
  );
});

const binding = (...policyIds: readonly string[]) => ({
  serviceAccountRef: { name: "ci" },
  policyIds,
});
