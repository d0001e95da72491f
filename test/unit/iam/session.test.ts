import { describe, expect, test } from "vitest";
import { commitOutcome } from "../../../src/iam/errors.ts";
import type { LoginEnd } from "../../../src/iam/session/session.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { HOUR, MINUTE } from "../../../src/util/time.ts";
import type { Operation } from "../../../tools/iam-server/operations.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import type { IamServer } from "../../../tools/iam-server/server.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { ACCOUNT, clientOf, failureOf, LOGIN, startConsole } from "./clients.ts";

const WRONG = { ...LOGIN, kind: "login", password: new Redacted("wrong-password") } as typeof LOGIN;
const REDIRECT = { kind: "Answer", status: 307, headers: { location: "/" }, body: "" } as const;
const POLICIES = { orgId: SEEDED.orgId };

function refuse(server: IamServer, operation: Operation, status = 401): void {
  server.faults.add({
    operation,
    fault: { kind: "Refuse", status },
    times: "always",
  });
}

function watched() {
  const logins: LoginEnd[] = [];
  return {
    logins,
    observer: { onRequest: () => undefined, onLogin: (r: LoginEnd) => void logins.push(r) },
  };
}

describe("a login", () => {
  test("is shared by fifty calls at once", async () => {
    const server = await startConsole({ latencyMs: 20 });
    const client = clientOf(server);
    await Promise.all(Array.from({ length: 50 }, () => client.listPolicies(POLICIES)));
    expect(server.requests.count("login")).toBe(1);
    expect(server.requests.count("listPolicies")).toBe(50);
    expect(server.requests.maxInFlight).toBeLessThanOrEqual(8);
  });

  test("works with a single slot", async () => {
    const server = await startConsole();
    const limits = { requestsPerSecond: 1_000, burst: 1, concurrency: 1, timeoutMs: 2_000 };
    const client = clientOf(server, { limits });
    await Promise.all(Array.from({ length: 10 }, () => client.listPolicies(POLICIES)));
    server.world.revokeTokens();
    await Promise.all(Array.from({ length: 10 }, () => client.listPolicies(POLICIES)));
    expect(server.requests.count("login")).toBe(2);
  });

  test("replaces an expired token once for fifty calls, each repeated once", async () => {
    const server = await startConsole({ latencyMs: 10 });
    const client = clientOf(server);
    await client.listPolicies(POLICIES);
    server.world.revokeTokens();
    await Promise.all(Array.from({ length: 50 }, () => client.listPolicies(POLICIES)));
    expect(server.requests.count("login")).toBe(2);
    expect(server.requests.count("listPolicies")).toBeLessThanOrEqual(101);
  });

  test("between two attempts lets a key be issued once", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    const { saId } = await client.createServiceAccount(ACCOUNT);
    server.world.revokeTokens();
    await client.issueKey({ saId, description: "d", expiresInDays: 1 });
    expect(server.world.keysOf(saId)).toHaveLength(1);
    expect(server.requests.of("issueKey").map(({ status }) => status)).toEqual([401, 201]);
  });

  test("does not help if the new token is rejected too: one repeat, then Unauthenticated", async () => {
    const server = await startConsole();
    for (const operation of ["listPolicies", "searchActions"] as const) refuse(server, operation);
    const client = clientOf(server);
    const failure = await failureOf(client.listPolicies(POLICIES));
    expect(failure).toMatchObject({ code: "Unauthenticated", status: 401 });
    expect(server.requests.count("listPolicies")).toBe(2);
    expect(server.requests.count("login")).toBe(2);
    // Tokens that are never accepted count as failed logins, so this cannot become a storm.
    for (let n = 0; n < 10; n += 1) await failureOf(client.listPolicies(POLICIES));
    expect(server.requests.count("login")).toBeLessThanOrEqual(3);
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ code: "LoginPaused" });
  });

  test("is kept if a neutral call, shared by concurrent calls, accepts the same token", async () => {
    const server = await startConsole({ latencyMs: 20 });
    refuse(server, "listPolicies");
    const client = clientOf(server);
    await client.listServiceAccounts();
    const failures = await Promise.all(
      Array.from({ length: 4 }, () => failureOf(client.listPolicies(POLICIES))),
    );
    for (const failure of failures)
      expect(failure).toMatchObject({
        code: "Unauthenticated",
        status: 401,
        loginAccepted: true,
        message: expect.stringContaining("status 401 while the login is accepted"),
      });
    expect(server.requests.counts()).toMatchObject({
      login: 1,
      listPolicies: 4,
      searchActions: 1,
    });
    await client.listServiceAccounts();
    expect(server.requests.count("searchActions")).toBe(1);
  });

  test.each([
    { name: "no permission for it", status: 403, logins: 1 },
    { name: "a failing console", status: 503, logins: 1 },
    { name: "a console without the neutral call", status: 404, logins: 2 },
  ])("is replaced only if the neutral call says so: $name", async ({ status, logins }) => {
    const server = await startConsole();
    refuse(server, "listPolicies");
    refuse(server, "searchActions", status);
    const failure = await failureOf(clientOf(server).listPolicies(POLICIES));
    expect(failure).toMatchObject({ status: 401, loginAccepted: logins === 1 });
    expect(server.requests.count("login")).toBe(logins);
  });

  test("that has expired is replaced even for a call that is refused by itself", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    await client.listServiceAccounts();
    refuse(server, "listPolicies");
    server.world.revokeTokens();
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ loginAccepted: true });
    expect(server.requests.counts()).toMatchObject({ login: 2, listPolicies: 2 });
    await client.listServiceAccounts();
    expect(server.requests.count("login")).toBe(2);
  });

  test("that is refused three times in a row is paused, for longer each time", async () => {
    const server = await startConsole();
    const clock = createFakeClock();
    const { logins, observer } = watched();
    const client = clientOf(server, { credentials: WRONG, clock, observer });
    for (let n = 0; n < 3; n += 1) {
      expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({
        code: "Unauthenticated",
        operation: "login",
        sent: false,
      });
    }
    let paused = await failureOf(
      client.issueKey({ saId: "sa-1", description: "", expiresInDays: 1 }),
    );
    expect(paused).toMatchObject({ code: "LoginPaused", sent: false });
    expect(paused.retryAt).toBe(clock.now() + 1.1 * MINUTE);
    expect(commitOutcome(paused)).toBe("NotCommitted");
    expect(server.requests.count("login")).toBe(3);

    await clock.advance(1.1 * MINUTE);
    await Promise.all(Array.from({ length: 50 }, () => failureOf(client.authenticate())));
    expect(server.requests.count("login")).toBe(4);
    paused = await failureOf(client.authenticate());
    expect(paused.retryAt).toBe(clock.now() + 2.2 * MINUTE);
    for (let n = 0; n < 10; n += 1) {
      await clock.advance(HOUR);
      await failureOf(client.authenticate());
    }
    paused = await failureOf(client.authenticate());
    expect(paused.retryAt).toBe(clock.now() + HOUR);
    expect(logins).toEqual(Array.from({ length: 14 }, () => "rejected"));
  });

  test("that succeeds after a pause ends the pause", async () => {
    const server = await startConsole();
    const clock = createFakeClock();
    const client = clientOf(server, { clock });
    const user = server.world.users.get("operator")!;
    const { password } = user;
    user.password = "another";
    for (let n = 0; n < 4; n += 1) await failureOf(client.authenticate());
    user.password = password;
    expect(await failureOf(client.authenticate())).toMatchObject({ code: "LoginPaused" });
    await clock.advance(2 * MINUTE);
    await client.listPolicies(POLICIES);
    user.password = "another";
    server.world.revokeTokens();
    for (let n = 0; n < 3; n += 1) {
      expect((await failureOf(client.listPolicies(POLICIES))).code).toBe("Unauthenticated");
    }
  });

  test("that requires a second factor is not repeated", async () => {
    const server = await startConsole();
    const clock = createFakeClock();
    const { logins, observer } = watched();
    const credentials = { ...LOGIN, username: SEEDED.mfaUser } as typeof LOGIN;
    const client = clientOf(server, { credentials, clock, observer });
    const failures = await Promise.all(
      Array.from({ length: 20 }, () => failureOf(client.createServiceAccount(ACCOUNT))),
    );
    await clock.advance(24 * HOUR);
    failures.push(await failureOf(client.authenticate()));
    expect(new Set(failures.map(({ code, sent }) => `${code} ${sent}`))).toEqual(
      new Set(["MfaRequired false"]),
    );
    expect(server.requests.count("login")).toBe(1);
    expect(logins).toEqual(["mfaRequired"]);
  });

  test.each([
    { name: "503", fault: { kind: "Refuse", status: 503 }, code: "Unavailable" },
    { name: "502", fault: { kind: "Refuse", status: 502 }, code: "Unavailable" },
    { name: "reset", fault: { kind: "Reset", when: "BeforeCommit" }, code: "Unavailable" },
    { name: "garbage", fault: { kind: "Garble", how: "NotJson" }, code: "MalformedResponse" },
    { name: "redirect", fault: REDIRECT, code: "MalformedResponse" },
  ] as const)("that ends in $name is no refusal: never paused, the call unsent", async (row) => {
    const server = await startConsole();
    server.faults.add({ operation: "login", fault: row.fault, times: 6 });
    const client = clientOf(server);
    for (let n = 0; n < 6; n += 1) {
      const failure = await failureOf(client.createServiceAccount(ACCOUNT));
      expect(failure).toMatchObject({ code: row.code, sent: false, operation: "login" });
      expect(commitOutcome(failure)).toBe("NotCommitted");
    }
    await client.createServiceAccount(ACCOUNT);
  });

  test.each([403, 404, 422, 400])(
    "refused with %i is never told as a fault of the call",
    async (status) => {
      const server = await startConsole();
      server.faults.add({
        operation: "login",
        fault: { kind: "Refuse", status },
      });
      const failure = await failureOf(clientOf(server).getServiceAccount("sa-1"));
      expect(failure).toMatchObject({ code: "Unauthenticated", status, sent: false });
    },
  );

  test("is not tried before Retry-After", async () => {
    const server = await startConsole();
    const clock = createFakeClock();
    const fault = { kind: "Refuse", status: 429, retryAfter: 30 } as const;
    server.faults.add({ operation: "login", fault });
    const client = clientOf(server, { clock });
    for (let n = 0; n < 5; n += 1) {
      expect(await failureOf(client.authenticate())).toMatchObject({
        code: "RateLimited",
        retryAt: Date.UTC(2026, 0, 1, 0, 0, 30),
        sent: false,
      });
    }
    expect(server.requests.count("login")).toBe(1);
    await clock.advance(30_000);
    await client.authenticate();
  });

  test("continues for the other callers if a call is cancelled", async () => {
    const server = await startConsole();
    const fault = server.faults.add({
      operation: "login",
      fault: { kind: "Hold", when: "BeforeCommit" },
    });
    const client = clientOf(server);
    const cancel = new AbortController();
    const cancelled = failureOf(client.listPolicies(POLICIES, cancel.signal));
    const other = client.listPolicies(POLICIES);
    await fault.reached;
    cancel.abort();
    expect(await cancelled).toMatchObject({ code: "Unavailable", sent: false });
    fault.release();
    expect(await other).not.toHaveLength(0);
    expect(server.requests.count("login")).toBe(1);
  });
});

describe("a ready-made token", () => {
  test("is used as it is, without the line break of a hand-written Secret", async () => {
    const server = await startConsole();
    const token = new Redacted(`${server.world.openSession("operator")}\n`);
    const client = clientOf(server, { credentials: { kind: "token", token } });
    await client.authenticate();
    expect(await client.listPolicies(POLICIES)).not.toHaveLength(0);
    expect(server.requests.count("login")).toBe(0);
  });

  test("that is refused is not replaced", async () => {
    const server = await startConsole();
    const token = new Redacted("token-of-yesterday");
    const client = clientOf(server, { credentials: { kind: "token", token } });
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({
      code: "Unauthenticated",
    });
    expect(server.requests.counts()).toEqual({ listPolicies: 1, searchActions: 1 });
  });

  test.each(["", " ", "two words", "line\nbreak", "ümlaut"])(
    "that no header can carry (%j) is not sent",
    async (text) => {
      const server = await startConsole();
      const client = clientOf(server, {
        credentials: { kind: "token", token: new Redacted(text) },
      });
      expect(await failureOf(client.authenticate())).toMatchObject({
        code: "Unauthenticated",
        sent: false,
      });
      expect(server.requests.all).toEqual([]);
    },
  );
});
