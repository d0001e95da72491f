/** A console, or a proxy in front of it, that asks to wait: all calls of its connection do, but not for long. */
import { expect, test } from "vitest";
import { MINUTE } from "../../src/util/time.ts";
import { SEEDED } from "../../tools/iam-server/seed.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { clientOf, failureOf, startConsole } from "../unit/console/clients.ts";

const POLICIES = { orgId: SEEDED.orgId };

/** A console that answered one call with `status` and asked to wait for a day. */
async function asked(status: number) {
  const server = await startConsole();
  const clock = createFakeClock();
  const client = clientOf(server, { clock });
  await client.authenticate();
  server.faults.add({
    operation: "listPolicies",
    fault: { kind: "Refuse", status, retryAfter: 86_400 },
  });
  const { retryAt } = await failureOf(client.listPolicies(POLICIES));
  return { server, clock, client, retryAt };
}

test.each([429, 503])(
  "a %d with Retry-After holds every call of the connection, five minutes at most",
  async (status) => {
    const { server, clock, client, retryAt } = await asked(status);
    expect(retryAt).toBe(clock.now() + 5 * MINUTE);
    const sent = server.requests.counts();
    const held = { code: "RateLimited", sent: false, retryAt };
    expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject(held);
    expect(await failureOf(client.getServiceAccount("sa-1"))).toMatchObject(held);
    expect(await failureOf(client.authenticate())).toMatchObject(held);
    expect(server.requests.counts()).toEqual(sent);
    await clock.advance(5 * MINUTE);
    expect(await client.listPolicies(POLICIES)).not.toHaveLength(0);
  },
);

test("calls that waited for their turn are held as well", async () => {
  const server = await startConsole();
  const limits = { requestsPerSecond: 10_000, burst: 10_000, concurrency: 1, timeoutMs: 5_000 };
  const client = clientOf(server, { limits });
  await client.authenticate();
  const fault = { kind: "Refuse", status: 429, retryAfter: 60 } as const;
  server.faults.add({ operation: "listPolicies", fault });
  const [first, second] = [1, 2].map(() => failureOf(client.listPolicies(POLICIES)));
  expect(await first).toMatchObject({ sent: true });
  expect(await second).toMatchObject({ sent: false, code: "RateLimited" });
});

test("revoking access goes through, the login for it included", async () => {
  const { server, clock, client } = await asked(429);
  server.world.revokeTokens();
  expect(await client.urgent.listPolicies(POLICIES)).not.toHaveLength(0);
  expect(server.requests.count("login")).toBe(2);
  expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ sent: false });
  await clock.advance(5 * MINUTE);
  await client.listPolicies(POLICIES);
});

test("what a person asks for goes through, but is not a way to hammer the console", async () => {
  const { server, clock, client, retryAt } = await asked(429);
  const before = server.requests.count("listPolicies");
  const tries = async (count: number) => {
    const failures = await Promise.all(
      Array.from({ length: count }, () =>
        client.requested.listPolicies(POLICIES).then(
          () => undefined,
          (error) => error.retryAt,
        ),
      ),
    );
    return failures.filter((each) => each !== undefined);
  };
  expect(await tries(100)).toEqual(Array.from({ length: 80 }, () => retryAt));
  expect(server.requests.count("listPolicies")).toBe(before + 20);
  await clock.advance(MINUTE);
  expect(await tries(100)).toHaveLength(90);
  await clock.advance(5 * MINUTE);
  expect(await tries(100)).toEqual([]);
});

test("a shorter Retry-After of another answer does not end the wait", async () => {
  const { server, client, retryAt } = await asked(503);
  const fault = { kind: "Refuse", status: 429, retryAfter: 1 } as const;
  server.faults.add({ operation: "getServiceAccount", fault });
  await failureOf(client.urgent.getServiceAccount("sa-1"));
  expect(await failureOf(client.listPolicies(POLICIES))).toMatchObject({ retryAt });
});

test("a refusal of one call holds nothing", async () => {
  const server = await startConsole();
  const client = clientOf(server);
  const fault = { kind: "Refuse", status: 404, retryAfter: 60 } as const;
  server.faults.add({ operation: "getServiceAccount", fault });
  await client.getServiceAccount("sa-1");
  expect(await client.listPolicies(POLICIES)).not.toHaveLength(0);
});
