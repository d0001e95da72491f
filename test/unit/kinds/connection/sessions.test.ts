import { expect, test } from "vitest";
import { clientSettings } from "../../../../src/connections/client-settings.ts";
import type { IamClient } from "../../../../src/console/client/client.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { sessionEffects } from "../../../../src/kinds/connection/effects/session.ts";
import { createSessions, refuse } from "../../../../src/kinds/connection/sessions.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { MINUTE, SECOND } from "../../../../src/util/time.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { snapshot as inOrder } from "./snapshot.ts";
import { connectionSpec } from "./specs.ts";

const refused = new IamError("Unauthenticated", "no", {
  operation: "getServiceAccount",
  status: 401,
});
const settings = clientSettings(connectionSpec(), {
  credentials: { kind: "token", token: new Redacted("t") },
});
const identity = { uid: "u", spec: "", inputs: "" };

/** A client of which only failing and closing matter here. */
function scripted(closed: string[], name: string): IamClient {
  return {
    getServiceAccount: () => Promise.reject(refused),
    searchActions: () => Promise.reject(refused),
    close: async () => void closed.push(name),
  } as unknown as IamClient;
}

function world() {
  const clock = createFakeClock();
  const closed: string[] = [];
  let made = 0;
  const createClient = () => scripted(closed, `client ${++made}`);
  const sessions = createSessions({ createClient, clock, log: silentLog });
  const open = () => {
    const client = sessions.prepare("k", settings);
    sessions.put("k", { identity, client, usable: true, reason: "" });
    return client;
  };
  return { clock, closed, sessions, open };
}

test("a replaced client is closed after a grace", async () => {
  const { clock, closed, open } = world();
  open();
  open();
  await clock.advance(MINUTE - 1);
  expect(closed).toEqual([]);
  await clock.advance(1);
  expect(closed).toEqual(["client 1"]);
});

test("a refusal in the middle of the work makes the session unusable once", async () => {
  const { sessions, open } = world();
  const told: string[] = [];
  sessions.onRefused((key) => told.push(`refused ${key}`));
  sessions.onChange((key) => told.push(`changed ${key}`));
  const client = open();
  const calls = [client.getServiceAccount("sa-1"), client.getServiceAccount("sa-2")];
  await Promise.allSettled(calls);
  expect(sessions.get("k")).toMatchObject({ usable: false, reason: "LoginFailed" });
  expect(told).toEqual(["changed k", "changed k", "refused k"]);
});

test("a refused API key says nothing about the login", async () => {
  const { sessions, open } = world();
  const key = { keyId: "sak_1", secret: new Redacted("s") };
  await expect(open().searchActions({ q: "a", key })).rejects.toBe(refused);
  expect(sessions.get("k")?.usable).toBe(true);
});

test("a refusal seen by a replaced client does not harm its successor", async () => {
  const { sessions, open } = world();
  const old = open();
  open();
  await expect(old.getServiceAccount("sa-1")).rejects.toBe(refused);
  expect(sessions.get("k")?.usable).toBe(true);
});

test.each([
  ["NoSession", false],
  ["InputsChanged", false],
  ["Recreated", true],
  ["SpecChanged", true],
  ["Requested", true],
] as const)(
  "a client opened because of %s ends a pause of its login: %s",
  async (because, ends) => {
    const asked: boolean[] = [];
    const sessions = createSessions({
      createClient: (_, __, { endsLoginPause }) => {
        asked.push(endsLoginPause);
        return { authenticate: async () => undefined, clockSkew: () => 0 } as unknown as IamClient;
      },
      clock: createFakeClock(),
      log: silentLog,
    });
    const { openSession } = sessionEffects(sessions);
    const { value } = openSession(inOrder, { because, identity, settings }).next();
    if (!("does" in value && "read" in value.does))
      throw new Error("a session is opened by a read");
    const run = { signal: new AbortController().signal } as never;
    await value.does.read(value.input, inOrder, run);
    expect(asked).toEqual([ends]);
  },
);

test("closing ends every client at once", async () => {
  const { clock, closed, sessions, open } = world();
  open();
  open();
  await sessions.close();
  expect(closed.sort()).toEqual(["client 1", "client 2"]);
  expect(clock.pendingTimers).toBe(0);
});

test("pauses double while refusals follow each other, and are forgiven", () => {
  const first = refuse(undefined, "login", refused, 0);
  const second = refuse(first, "login", refused, first.until);
  const later = refuse(second, "login", refused, second.at + 16 * MINUTE);
  expect([first, second, later].map(({ at, until }) => (until - at) / SECOND)).toEqual([
    15, 30, 15,
  ]);
  expect(refuse(undefined, "token", refused, 0).until).toBe(10 * MINUTE);
});
