import { describe, expect, test } from "vitest";
import { ACCOUNT, clientOf, failureOf, startConsole } from "./clients.ts";

const OPERATION = "listServiceAccounts";

describe("those who list accounts at about the same time", () => {
  const held = async () => {
    const server = await startConsole();
    const client = clientOf(server);
    const fault = server.faults.add({
      operation: OPERATION,
      fault: { kind: "Hold", when: "AfterCommit" },
    });
    const first = client.listServiceAccounts();
    await fault.reached;
    return { server, client, first, release: () => fault.release() };
  };

  test("share an answer that is not older than their question", async () => {
    const { server, client, first, release } = await held();
    const { saId } = server.world.createAccount(ACCOUNT);
    const others = [1, 2, 3].map(() => client.listServiceAccounts());
    release();
    expect(await first).toEqual([]);
    for (const listed of await Promise.all(others)) expect(listed).toMatchObject([{ saId }]);
    expect(server.requests.count(OPERATION)).toBe(2);
  });

  test("wait for each other right after a list", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    await client.listServiceAccounts();
    const early = client.listServiceAccounts();
    const { saId } = server.world.createAccount(ACCOUNT);
    const late = client.listServiceAccounts();
    expect(await early).toMatchObject([{ saId }]);
    expect(await late).toMatchObject([{ saId }]);
    expect(server.requests.count(OPERATION)).toBe(2);
  });

  test("share a failure, and the next caller calls again", async () => {
    const { server, client, first, release } = await held();
    server.faults.add({ operation: OPERATION, fault: { kind: "Reset", when: "BeforeCommit" } });
    const others = [1, 2].map(() => failureOf(client.listServiceAccounts()));
    release();
    await first;
    for (const failure of await Promise.all(others))
      expect(failure).toMatchObject({ code: "Unavailable" });
    expect(await client.listServiceAccounts()).toEqual([]);
    expect(server.requests.count(OPERATION)).toBe(3);
  });

  test("do not wait for each other once they give up", async () => {
    const { client, first, release } = await held();
    const patience = new AbortController();
    const impatient = failureOf(client.listServiceAccounts(undefined, patience.signal));
    const patient = client.listServiceAccounts();
    patience.abort();
    expect(await impatient).toMatchObject({ code: "Unavailable", operation: OPERATION });
    release();
    expect([await first, await patient]).toEqual([[], []]);
  });
});

describe("concurrent readers of an account", () => {
  const limits = { requestsPerSecond: 10_000, burst: 10_000, concurrency: 1, timeoutMs: 5_000 };

  test("share an answer until the call is sent, but not with readers of another account", async () => {
    const server = await startConsole();
    const client = clientOf(server, { limits });
    const { saId } = server.world.createAccount(ACCOUNT);
    const other = server.world.createAccount({ ...ACCOUNT, name: "other" });
    await client.authenticate();
    const interfering = server.faults.add({
      operation: "listPolicies",
      fault: { kind: "Hold", when: "BeforeCommit" },
    });
    const slow = client.listPolicies({ orgId: ACCOUNT.orgId });
    await interfering.reached;
    const early = client.getServiceAccount(saId);
    const alone = client.getServiceAccount(other.saId);
    const { keyId } = server.world.issueKey(saId, { description: "", expiresInDays: 1 }).key;
    const late = client.getServiceAccount(saId);
    interfering.release();
    expect([await early, await late]).toMatchObject([{ keyIds: [keyId] }, { keyIds: [keyId] }]);
    expect(await alone).toMatchObject({ saId: other.saId, keyIds: [] });
    await slow;
    expect(server.requests.count("getServiceAccount")).toBe(2);
  });

  test("get no answer that is older than their question, and do not wait for each other", async () => {
    const server = await startConsole();
    const client = clientOf(server);
    const { saId } = server.world.createAccount(ACCOUNT);
    const fault = server.faults.add({
      operation: "getServiceAccount",
      fault: { kind: "Hold", when: "AfterCommit" },
    });
    const first = client.getServiceAccount(saId);
    await fault.reached;
    const { keyId } = server.world.issueKey(saId, { description: "", expiresInDays: 1 }).key;
    expect(await client.getServiceAccount(saId)).toMatchObject({ keyIds: [keyId] });
    fault.release();
    expect(await first).toMatchObject({ keyIds: [] });
  });
});
