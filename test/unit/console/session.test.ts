import { describe, expect, test, vi } from "vitest";
import { commitOutcome } from "../../../src/console/errors.ts";
import { LoginCircuits } from "../../../src/console/session/login-circuits.ts";
import type { LoginEnd } from "../../../src/console/session/session.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { type Clock, HOUR, MINUTE, systemClock } from "../../../src/util/time.ts";
import type { Operation } from "../../../tools/iam-server/operations.ts";
import { SEEDED } from "../../../tools/iam-server/seed.ts";
import type { IamServer } from "../../../tools/iam-server/server.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { ACCOUNT, clientOf, failureOf, LOGIN, startConsole } from "./clients.ts";

const WRONG = { ...LOGIN, kind: "login", password: new Redacted("wrong-password") } as typeof LOGIN;
const REDIRECT = { kind: "Answer", status: 307, headers: { location: "/" }, body: "" } as const;
const NO_TOKEN = '{"requestId":"r-1","result":{"accessToken":null,"mfaRequired":false}}';
const DENIED = "Policy denied";
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
        login: "Accepted",
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
    { name: "no permission for it", status: 403, logins: 1, login: "Accepted", message: DENIED },
    { name: "the 403 of a gateway", status: 403, logins: 1, login: "Unknown" },
    { name: "a failing console", status: 503, logins: 1, login: "Unknown" },
    { name: "a console without the neutral call", status: 404, logins: 2, login: "Refused" },
  ])(
    "is replaced only if the neutral call says so: $name",
    async ({ status, logins, login, ...rest }) => {
      const server = await startConsole();
      refuse(server, "listPolicies");
      const fault = { kind: "Refuse", status, ...rest } as const;
      server.faults.add({ operation: "searchActions", fault, times: "always" });
      const failure = await failureOf(clientOf(server).listPolicies(POLICIES));
      expect(failure).toMatchObject({ status: 401, login });
      expect(server.requests.count("login")).toBe(logins);
    },
  );

  test("that has expired is replaced even for a call that is refused by itself", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    await client.listServiceAccounts();
    refuse(server, "listPolicies");
    server.world.revokeTokens();
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ login: "Accepted" });
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
    { name: "429", fault: { kind: "Refuse", status: 429 }, code: "RateLimited" },
    { name: "half", fault: { kind: "Garble", how: "Truncated" }, code: "Unavailable" },
  ] as const)("that ends in $name is not rejected: never paused, the call unsent", async (row) => {
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

  test.each([
    { name: "a redirect", fault: REDIRECT },
    { name: "a page", fault: { kind: "Intercept", how: "Page" } },
    { name: "an error as JSON with status 200", fault: { kind: "Intercept", how: "JsonError" } },
    { name: "an empty body", fault: { kind: "Intercept", how: "Empty" } },
    { name: "202", fault: { kind: "Intercept", how: "OtherForm", status: 202 } },
    { name: "an envelope without a token", fault: { kind: "Answer", body: NO_TOKEN } },
    { name: "more than the operator reads", fault: { kind: "Huge" } },
    { name: "405", fault: { kind: "Refuse", status: 405 } },
  ] as const)("answered with $name has failed: paused after three", async ({ fault }) => {
    const server = await startConsole();
    server.faults.add({ operation: "login", fault, times: "always" });
    const { logins, observer } = watched();
    const client = clientOf(server, { observer });
    for (let n = 0; n < 3; n += 1) {
      const failure = await failureOf(client.createServiceAccount(ACCOUNT));
      expect(failure).toMatchObject({ code: "Unauthenticated", sent: false, operation: "login" });
      expect(commitOutcome(failure)).toBe("NotCommitted");
    }
    const calls = Array.from({ length: 20 }, () => failureOf(client.listPolicies(POLICIES)));
    for (const failure of await Promise.all(calls)) expect(failure.code).toBe("LoginPaused");
    expect(server.requests.count("login")).toBe(3);
    expect(logins).toEqual(["rejected", "rejected", "rejected"]);
  });

  test("that is paused says how it failed", async () => {
    const server = await startConsole();
    refuse(server, "login", 404);
    const client = clientOf(server);
    for (let n = 0; n < 3; n += 1) await failureOf(client.authenticate());
    expect(await failureOf(client.authenticate())).toMatchObject({
      code: "LoginPaused",
      status: 404,
      message: expect.stringContaining("login was answered with status 404"),
    });
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

describe("a login that several clients use", () => {
  const circuitsOf = (clock: Clock) =>
    new LoginCircuits(clock, { fraction: () => 0, id: () => "" });

  test("is tried by one client at a time, and paused for all of them after three failures", async () => {
    const server = await startConsole({ latencyMs: 5 });
    const clock = createFakeClock();
    const options = { credentials: WRONG, clock, loginCircuits: circuitsOf(clock) };
    const clients = Array.from({ length: 20 }, () => clientOf(server, options));
    const failures = await Promise.all(clients.map((client) => failureOf(client.authenticate())));
    expect(server.requests.count("login")).toBe(3);
    expect(failures.filter(({ code }) => code === "LoginPaused")).toHaveLength(17);
    expect(server.requests.maxInFlight).toBe(1);
  });

  test("stays paused for a new client with the same credentials, and is tried at once with others", async () => {
    const server = await startConsole();
    const loginCircuits = circuitsOf(createFakeClock());
    const old = clientOf(server, { credentials: WRONG, loginCircuits });
    for (let n = 0; n < 3; n += 1) await failureOf(old.authenticate());
    const next = clientOf(server, { credentials: WRONG, loginCircuits });
    await old.close();
    expect(await failureOf(next.authenticate())).toMatchObject({ code: "LoginPaused" });
    await clientOf(server, { loginCircuits }).authenticate();
    expect(server.requests.count("login")).toBe(4);
  });

  test("is tried once more on request, and then paused for longer", async () => {
    const server = await startConsole();
    const clock = createFakeClock();
    const options = { credentials: WRONG, clock, loginCircuits: circuitsOf(clock) };
    const old = clientOf(server, options);
    for (let n = 0; n < 3; n += 1) await failureOf(old.authenticate());
    const requested = clientOf(server, { ...options, endsLoginPause: true });
    expect(await failureOf(requested.authenticate())).toMatchObject({ code: "Unauthenticated" });
    const paused = await failureOf(requested.authenticate());
    expect(paused).toMatchObject({ code: "LoginPaused", retryAt: clock.now() + 2 * MINUTE });
  });

  test("is not tried by each of them while the console does not answer", async () => {
    const server = await startConsole();
    server.faults.add({ operation: "login", fault: { kind: "Silence", when: "BeforeCommit" } });
    const limits = { requestsPerSecond: 1_000, burst: 1_000, concurrency: 8, timeoutMs: 100 };
    const loginCircuits = circuitsOf(systemClock);
    const clients = Array.from({ length: 5 }, () => clientOf(server, { loginCircuits, limits }));
    const failures = await Promise.all(clients.map((client) => failureOf(client.authenticate())));
    expect(failures.map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => "Timeout"));
    expect(server.requests.count("login")).toBe(1);
    await clients[4]?.authenticate();
  });
});

describe("a token that expires while the neutral call gets no clear answer", () => {
  const UNCLEAR = [
    { name: "503", fault: { kind: "Refuse", status: 503 } },
    { name: "no answer", fault: { kind: "Reset", when: "BeforeCommit" } },
    { name: "429", fault: { kind: "Refuse", status: 429 } },
    { name: "a page", fault: { kind: "Intercept", how: "Page" } },
    { name: "a redirect", fault: REDIRECT },
  ] as const;

  test.each(UNCLEAR)("is replaced after refused calls about two accounts: $name", async (row) => {
    const server = await startConsole();
    const client = clientOf(server);
    const ids = await Promise.all(
      Array.from({ length: 10 }, async (_, n) => {
        const name = `account-${n}`;
        return (await client.createServiceAccount({ ...ACCOUNT, name })).saId;
      }),
    );
    server.world.revokeTokens();
    server.faults.add({ operation: "searchActions", fault: row.fault, times: "always" });
    const [one = "", ...others] = ids;
    const first = await failureOf(client.getServiceAccount(one));
    expect(first).toMatchObject({ code: "Unauthenticated", status: 401, login: "Unknown" });
    for (const saId of others) expect(await client.getServiceAccount(saId)).toMatchObject({ saId });
    const statuses = server.requests.of("getServiceAccount").map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(2);
    expect(server.requests.count("login")).toBe(2);
  });

  test.each(UNCLEAR)("is not replaced for refused calls about one account: $name", async (row) => {
    const server = await startConsole();
    const client = clientOf(server);
    await client.listServiceAccounts();
    refuse(server, "getServiceAccount");
    refuse(server, "issueKey");
    server.faults.add({ operation: "searchActions", fault: row.fault, times: "always" });
    for (let n = 0; n < 5; n += 1) {
      const key = { saId: "sa-1", description: "", expiresInDays: 1 };
      expect(await failureOf(client.getServiceAccount("sa-1"))).toMatchObject({ login: "Unknown" });
      expect(await failureOf(client.issueKey(key))).toMatchObject({ login: "Unknown" });
    }
    await client.listServiceAccounts();
    expect(server.requests.count("login")).toBe(1);
  });

  test("is not sent with calls that begin, or wait, while two refusals are judged", async () => {
    const server = await startConsole();
    const limits = { requestsPerSecond: 10_000, burst: 10_000, concurrency: 4, timeoutMs: 1_000 };
    const client = clientOf(server, { limits });
    const ids = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const name = `account-${n}`;
        return (await client.createServiceAccount({ ...ACCOUNT, name })).saId;
      }),
    );
    server.world.revokeTokens();
    const silence = { kind: "Silence", when: "BeforeCommit" } as const;
    server.faults.add({ operation: "searchActions", fault: silence, times: "always" });
    const refused = () =>
      server.requests.of("getServiceAccount").filter(({ status }) => status === 401).length;
    const early = ids.slice(0, 12).map((saId) => client.getServiceAccount(saId));
    await vi.waitFor(() => expect(refused()).toBeGreaterThan(1));
    const late = ids.slice(12).map((saId) => client.getServiceAccount(saId));
    expect(await Promise.all([...early, ...late])).toHaveLength(20);
    // Those that were under way before two answers were there.
    expect(refused()).toBeLessThanOrEqual(5);
    expect(server.requests.count("login")).toBe(2);
  });

  test("forgets an old refusal after a call that was accepted", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    refuse(server, "getServiceAccount");
    refuse(server, "searchActions", 503);
    expect(await failureOf(client.getServiceAccount("sa-1"))).toMatchObject({ login: "Unknown" });
    await client.listServiceAccounts();
    expect(await failureOf(client.getServiceAccount("sa-2"))).toMatchObject({ login: "Unknown" });
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
