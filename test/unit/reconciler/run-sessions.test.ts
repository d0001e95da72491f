/** A run names its console sessions by numbers, and each number stays the client that the run has resolved. */
import { expect, test } from "vitest";
import type { IamClient } from "../../../src/console/client/client.ts";
import type { ConnectionLookup, WithClient } from "../../../src/reconciler/context.ts";
import { stalled } from "../../../src/reconciler/rules/waiting.ts";
import { RunSessions } from "../../../src/reconciler/run-sessions.ts";

const REF = { kind: "ClusterConnection", name: "default" } as const;
const spec = {} as never;

function clientNamed(name: string) {
  const of = (form: string) => ({ name: `${name}${form}` });
  return { ...of(""), urgent: of(" urgent"), requested: of(" requested") } as unknown as IamClient;
}

function usable(client: IamClient): ConnectionLookup<WithClient> {
  return { ok: true, access: { client, spec, grant: {} as never } };
}

function sessionsOver(found: readonly ConnectionLookup<WithClient>[], isRequested?: boolean) {
  const left = [...found];
  const resolve = async () => left.shift() as ConnectionLookup<WithClient>;
  return new RunSessions({ resolve }, isRequested);
}

test("a session stays the same client after the connection has got another", async () => {
  const [one, two] = [clientNamed("one"), clientNamed("two")];
  const sessions = sessionsOver([usable(one), usable(two), usable(one)]);
  const numbers: (number | undefined)[] = [];
  for (let count = 0; count < 3; count += 1) {
    const found = await sessions.resolve(REF, "team");
    expect(JSON.stringify(found)).not.toContain("one");
    numbers.push(found.ok ? found.access.session : undefined);
  }
  expect(numbers).toEqual([0, 1, 0]);
  expect([sessions.client(0), sessions.client(1)]).toEqual([one, two]);
  expect(sessions.client(1, { isUrgent: true })).toBe(two.urgent);
  expect(() => sessions.client(2)).toThrow("session 2");
});

test("a requested run calls the console in spite of a pause, but not to unbind what is not granted", async () => {
  const client = clientNamed("one");
  const ungranted = { client, spec, gracePeriodMs: 0 };
  const refused = { ok: false, waiting: stalled("NotGranted", "No grant."), ungranted } as const;
  const sessions = sessionsOver([usable(client), refused], true);
  await sessions.resolve(REF, "team");
  const found = await sessions.resolve(REF, "team");
  expect(sessions.client(0)).toBe(client.requested);
  expect(!found.ok && found.ungranted && sessions.client(found.ungranted.session)).toBe(client);
});

test("the calls that a connection configures are data", async () => {
  const client = { ...clientNamed("one"), deleteKey: async () => undefined };
  const found = await sessionsOver([usable(client)]).resolve(REF, "team");
  expect(found.ok && [...found.access.extraCalls]).toEqual(["deleteKey"]);
});
