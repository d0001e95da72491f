import { describe, expect, test } from "vitest";
import { findCondition } from "../../src/api/conditions.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../iam-server/seed.ts";
import { startIamServer } from "../iam-server/server.ts";
import { inWorld } from "./support/in-world.ts";
import type { World } from "./support/world.ts";

/** Secrets are not watched: an unready connection looks at its own about every 12 s. */
const CHECK_MS = 40_000;
const { password, domain } = DEFAULT_CREDENTIALS;
const credentials = { login: { secretRef: { name: "login" } } };
const bare = { bare: true } as const;

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
    "is tried three times with a wrong password, and at once after a change of the Secret",
    inWorld(bare, async (world) => {
      const wrong = "wrong-password-0123456789";
      await world.writeSecret("login", { username: "operator", password: wrong, domain });
      await world.connect({ credentials });
      await world.start();
      await world.condition("Connection", "console", "Authenticated", "False", "LoginFailed");
      await world.until(
        "the circuit to open",
        async () =>
          findCondition(
            (await world.get("Connection", "console")).status?.conditions,
            "Authenticated",
          )?.reason === "LoginPaused",
        60_000,
      );
      expect(logins(world)).toBe(3);
      expect(await world.message("Connection", "console")).toMatch(/changed Secret/);
      await world.editSecret("login", { password });
      await world.until(
        "the login",
        async () =>
          (await world.get("Connection", "console")).status?.conditions?.[0]?.status === "True",
        CHECK_MS,
      );
      await world.ready("Connection", "console");
      expect(logins(world)).toBe(4);
      expect(JSON.stringify(await world.channels())).not.toContain(wrong);
    }),
    150_000,
  );

  test.each([
    {
      name: "does not exist",
      entries: undefined,
      reason: "SecretNotFound",
      message: /username, password, domain/,
    },
    {
      name: "lacks a key",
      entries: { username: "operator", password },
      reason: "SecretIncomplete",
      message: /needs the keys username, password, domain; missing or empty: domain/,
    },
  ])(
    "waits for a Secret that $name, and names the keys",
    ({ entries, reason, message }) =>
      inWorld(bare, async (world) => {
        if (entries !== undefined) await world.writeSecret("login", entries);
        await world.connect({ credentials });
        await world.start();
        await world.condition("Connection", "console", "Ready", "False", reason);
        expect(await world.message("Connection", "console")).toMatch(message);
        expect(await world.message("Connection", "console")).toContain(`${world.namespace}/login`);
        await world.serviceAccount("ci");
        await world.condition("ServiceAccount", "ci", "Ready", "False", "ConnectionNotReady");
        expect(logins(world)).toBe(0);
        await world.writeSecret("login", { username: "operator", password, domain });
        await world.until(
          "the ServiceAccount",
          async () =>
            (await world.get("ServiceAccount", "ci")).status?.conditions?.[0]?.status === "True",
          CHECK_MS,
        );
      })(),
    90_000,
  );

  test(
    "is tried exactly once where a second factor is asked for, until the Secret changes",
    inWorld(bare, async (world) => {
      await world.writeSecret("login", { username: SEEDED.mfaUser, password, domain });
      await world.connect({ credentials });
      await world.start();
      await world.condition("Connection", "console", "Authenticated", "False", "MfaRequired");
      await world.condition("Connection", "console", "Stalled", "True", "MfaRequired");
      await world.serviceAccount("ci");
      await world.condition("ServiceAccount", "ci", "Ready", "False", "ConnectionNotReady");
      expect(await world.message("ServiceAccount", "ci")).toContain("MfaRequired");
      await world.until(
        "some more passes",
        async () => passes(await world.operator?.metrics(), "Connection") >= 3,
        CHECK_MS,
      );
      expect(logins(world)).toBe(1);
      await world.editSecret("login", { username: "operator" });
      await world.until(
        "the ServiceAccount",
        async () =>
          (await world.get("ServiceAccount", "ci")).status?.conditions?.[0]?.status === "True",
        CHECK_MS,
      );
      expect(logins(world)).toBe(2);
    }),
    120_000,
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

describe.concurrent("a ready-made token", () => {
  test(
    "is used as it is, and a refused one waits for another",
    inWorld(bare, async (world) => {
      const token = world.iam.world.openSession("operator");
      await world.writeSecret("token", { token: `${token}\n` });
      await world.connect({
        credentials: { token: { secretRef: { name: "token", key: "token" } } },
      });
      await world.start();
      await world.serviceAccount("ci");
      await world.ready("ServiceAccount", "ci");
      world.iam.world.revokeTokens();
      await world.annotate("ServiceAccount", "ci", {
        "iam-operator.io/reconcile-requested-at": "1",
      });
      await world.condition("Connection", "console", "Ready", "False", "LoginFailed");
      const other = world.iam.world.openSession("operator");
      await world.writeSecret("token", { token: other });
      await world.until(
        "the Connection",
        async () =>
          (await world.get("Connection", "console")).status?.conditions?.[0]?.status === "True",
        CHECK_MS,
      );
      await world.ready("ServiceAccount", "ci");
      expect(logins(world)).toBe(0);
      const said = JSON.stringify(await world.channels());
      expect(said).not.toContain(token);
      expect(said).not.toContain(other);
    }),
    90_000,
  );
});

describe.concurrent("a console that is down", () => {
  test(
    "at the start is waited for",
    inWorld(bare, async (world) => {
      await world.iam.faults.setReachability("refuse");
      await world.connect();
      await world.start();
      await world.serviceAccount("ci");
      await world.apiKey("key");
      await world.until(
        "Authenticated=Unknown",
        async () =>
          findCondition(
            (await world.get("Connection", "console")).status?.conditions,
            "Authenticated",
          )?.reason === "ConsoleUnavailable",
      );
      await world.condition("Connection", "console", "Ready", "False", "ConsoleUnavailable");
      await world.iam.faults.setReachability("up");
      await world.until("the key", () => world.holdsLivePair("key"), CHECK_MS);
      expect(world.iam.requests.count("createServiceAccount")).toBe(1);
      expect(world.iam.requests.count("issueKey")).toBe(1);
    }),
    90_000,
  );

  test.each(["refuse", "unavailable", "reset"] as const)(
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

  test(
    "follows a change of its baseURL, with another login there",
    inWorld({}, async (world) => {
      await world.ready("Connection", "console");
      const other = await startIamServer();
      try {
        await world.connect({ baseURL: other.url });
        await world.until(
          "the login at the other console",
          async () => other.requests.count("login") > 0,
        );
        await world.ready("Connection", "console");
        const before = world.iam.requests.all.length;
        await world.serviceAccount("ci");
        await world.ready("ServiceAccount", "ci");
        expect(other.requests.count("login")).toBe(1);
        expect(other.requests.count("createServiceAccount")).toBe(1);
        expect(world.iam.requests.all.length).toBe(before);
        expect(other.requests.unknownCalls).toEqual([]);
      } finally {
        // The operator's connections end with it.
        void other.close();
      }
    }),
  );

  test(
    "never follows a redirect",
    inWorld(bare, async (world) => {
      const elsewhere = await startIamServer();
      try {
        world.iam.faults.add({
          operation: "login",
          when: "beforeCommit",
          action: { kind: "redirect", location: `${elsewhere.url}/api/v1/iam/authn/public/login` },
          times: "always",
        });
        await world.connect();
        await world.start();
        await world.condition("Connection", "console", "Ready", "False");
        expect(await world.message("Connection", "console")).toMatch(/redirect/i);
        expect(elsewhere.requests.all).toEqual([]);
      } finally {
        await elsewhere.close();
      }
    }),
  );
});

const binding = (...policyIds: readonly string[]) => ({
  serviceAccountRef: { name: "ci" },
  policyIds,
});

/** Passes of a controller so far. */
function passes(metrics = "", controller: string): number {
  return metrics
    .split("\n")
    .filter(
      (line) =>
        line.startsWith("controller_runtime_reconcile_total{") &&
        line.includes(`controller="${controller}"`),
    )
    .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}
