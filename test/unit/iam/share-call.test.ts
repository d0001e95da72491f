import { describe, expect, test } from "vitest";
import { shareCall } from "../../../src/iam/client/share-call.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { ACCOUNT, clientOf, failureOf, startConsole } from "./clients.ts";

const OPERATION = "listServiceAccounts";

describe("those who list accounts at about the same time", () => {
  const held = async () => {
    const server = await startConsole();
    const client = clientOf(server);
    const fault = server.faults.add({
      operation: OPERATION,
      when: "afterCommit",
      action: { kind: "hold" },
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

  test("share a failure, and the next one asks anew", async () => {
    const { server, client, first, release } = await held();
    server.faults.add({ operation: OPERATION, when: "beforeCommit", action: { kind: "reset" } });
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
    const impatient = failureOf(client.listServiceAccounts(patience.signal));
    const patient = client.listServiceAccounts();
    patience.abort();
    expect(await impatient).toMatchObject({ code: "Unavailable", operation: OPERATION });
    release();
    expect([await first, await patient]).toEqual([[], []]);
  });
});

test.each([
  { duration: 0, pause: 0 },
  { duration: 10, pause: 40 },
  { duration: 50, pause: 200 },
  { duration: 3_000, pause: 200 },
])("after a call of $duration ms there is none for $pause ms", async ({ duration, pause }) => {
  const clock = createFakeClock();
  const starts: number[] = [];
  const options = { operation: OPERATION, clock, maxPauseMs: 200 } as const;
  const list = shareCall(options, async () => {
    starts.push(clock.monotonic());
    await clock.sleep(duration);
  });
  const both = Promise.all([list(), clock.sleep(1).then(() => list())]);
  await clock.advance(10_000);
  await both;
  expect(starts).toEqual([0, Math.max(1, duration + pause)]);
});
