/** A console that does not answer: noticed by the calls that are made anyway, said once, and over with the first answer. */
import { describe, expect, test } from "vitest";
import { clientSettings } from "../../../../src/connections/client-settings.ts";
import type { IamClient } from "../../../../src/console/client/client.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { sessionEffects } from "../../../../src/kinds/connection/effects/session.ts";
import { observe } from "../../../../src/kinds/connection/observe.ts";
import { authentication } from "../../../../src/kinds/connection/rules/authentication.ts";
import { report } from "../../../../src/kinds/connection/rules/report.ts";
import type { ConnectionSnapshot, Login } from "../../../../src/kinds/connection/rules/snapshot.ts";
import { reconcileConnection } from "../../../../src/kinds/connection/run.ts";
import { createSessions } from "../../../../src/kinds/connection/sessions.ts";
import { conditionEvents } from "../../../../src/reconciler/rules/condition-events.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { statusOf } from "../../../../src/reconciler/rules/report.ts";
import { indexes } from "../../../../src/resources/indexes.ts";
import { apiKeyType, clusterConnectionType } from "../../../../src/resources/resource-types.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { DAY, MINUTE, SECOND } from "../../../../src/util/time.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { playRun } from "../play-run.ts";
import { at, credentials, NOW, snapshot } from "./snapshot.ts";
import { connectionSpec } from "./specs.ts";

const KEY = "ClusterConnection/default";
const spec = connectionSpec();
const identity = { uid: "u", spec: "", inputs: "" };

function world() {
  const clock = createFakeClock();
  const told: string[] = [];
  let answer: (code: string) => void = () => undefined;
  const sessions = createSessions({
    createClient: (_, __, { onRequest }) => {
      answer = onRequest;
      return { close: async () => undefined } as unknown as IamClient;
    },
    clock,
    log: silentLog,
  });
  sessions.onOutage((key) => told.push(`${key} ${sessions.outageOf(key)?.code ?? "answers"}`));
  const client = sessions.prepare(KEY, clientSettings(spec, { credentials }));
  sessions.put(KEY, { identity, client, usable: true, reason: "" });
  return { clock, told, sessions, answer: (code: string) => answer(code) };
}

describe("calls that fail", () => {
  test("for fifteen seconds without an answer in between are an outage, told once", async () => {
    const { clock, told, answer, sessions } = world();
    const since = clock.now();
    for (let second = 0; second < 60; second += 1) {
      answer(["WebPage", "503", "Timeout"][second % 3] ?? "");
      if (second < 15) expect(told).toEqual([]);
      await clock.advance(SECOND);
    }
    expect(told).toEqual([`${KEY} WebPage`]);
    expect(sessions.outageOf(KEY)?.since).toBe(since);
    answer("401");
    answer("200");
    expect(told).toEqual([`${KEY} WebPage`, `${KEY} answers`]);
  });

  test("are an outage when they have lasted, whatever the wall clock says", async () => {
    const { clock, told, answer, sessions } = world();
    answer("503");
    clock.jump(DAY);
    answer("503");
    expect(told).toEqual([]);
    clock.jump(-2 * DAY);
    await clock.advance(15 * SECOND);
    answer("503");
    expect(told).toEqual([`${KEY} 503`]);
    expect(sessions.outageOf(KEY)?.since).toBe(clock.now() - 15 * SECOND);
  });

  test.each(["200", "403", "429", "404"])("with %s in between are none", async (code) => {
    const { clock, told, answer } = world();
    for (let second = 0; second < 60; second += 1) {
      answer(second % 10 === 9 ? code : "502");
      await clock.advance(SECOND);
    }
    expect(told).toEqual([]);
  });

  test("of a client that was replaced say nothing", async () => {
    const { clock, told, answer, sessions } = world();
    const client = sessions.prepare(KEY, clientSettings(spec, { credentials }));
    sessions.put(KEY, { identity, client, usable: true, reason: "" });
    await clock.advance(MINUTE);
    answer("200");
    expect(told).toEqual([]);
  });
});

describe("a connection during an outage", () => {
  const seen = (waiting: number | undefined): ConnectionSnapshot => ({
    ...snapshot,
    outage: waiting === undefined ? undefined : { since: NOW - MINUTE, code: "503", waiting },
  });
  const accepted: Login = { kind: "Accepted", isNew: false };
  /** The effects of a run whose probe ends nothing, and its end. */
  const played = (waiting: number | undefined, login: Login) => {
    const s = { ...seen(waiting), login };
    const run = reconcileConnection(seen(waiting), at.now, sessionEffects({} as never));
    return [...playRun(run, { Authenticate: s, Probe: s })];
  };
  const reportOf = (waiting: number | undefined) => {
    const outcome = played(waiting, accepted).at(-1) as Outcome;
    const snapshot = { ...seen(waiting), login: accepted };
    return report(clusterConnectionType, snapshot, outcome, at);
  };

  test("says that web pages answer in place of the console", () => {
    const outage = { since: NOW - MINUTE, code: "WebPage", waiting: 1 };
    const { status, message } = authentication({ ...snapshot, outage, login: accepted });
    expect(status).toBe("Unknown");
    expect(message).toContain(
      "At https://console.example.com, web pages have answered in place of the console since ",
    );
  });

  test("says since when a login gets no answer", () => {
    const outage = { since: NOW - MINUTE, code: "Unavailable", waiting: 3 };
    const error = new IamError("Unavailable", "login got no answer", { operation: "login" });
    const login = { kind: "Failed", reason: "ConsoleUnavailable", error } as const;
    expect(authentication({ ...snapshot, outage, login })).toEqual({
      status: "Unknown",
      reason: "ConsoleUnavailable",
      message:
        "Login got no answer. The console at https://console.example.com has not answered since 2025-12-31T23:59:00Z (Unavailable); at least 2 objects wait for it. Calls are repeated until it answers.",
    });
    const refused = { ...login, reason: "LoginFailed" } as const;
    expect(authentication({ ...snapshot, outage, login: refused }).message).not.toContain("since");
  });

  test("asks once a run, and never without one", () => {
    const outage = { kind: "Waiting", state: "Reconciling", reason: "ConsoleUnavailable" };
    expect(played(3, accepted)).toMatchObject([
      { kind: "Authenticate" },
      { kind: "Probe" },
      outage,
    ]);
    const settled = [{ kind: "Authenticate" }, { kind: "Settled" }];
    expect(played(undefined, accepted)).toEqual(settled);
    const error = new IamError("Unavailable", "no", { operation: "login" });
    const login = { kind: "Failed", reason: "ConsoleUnavailable", error } as const;
    expect(played(3, login)).toMatchObject([{ kind: "Authenticate" }, outage]);
  });

  test("says since when, and how many objects wait, with one event; and is Ready again", () => {
    const before = statusOf(reportOf(undefined).objects[0] as never, { now: NOW });
    const [entry] = reportOf(4).objects;
    const during = statusOf({ ...(entry as NonNullable<typeof entry>) }, { now: NOW });
    const events = conditionEvents(before.conditions, during.conditions, ["Authenticated"]);
    expect(events).toMatchObject([{ type: "Warning", reason: "ConsoleUnavailable" }]);
    expect(events[0]?.note).toBe(
      "The console at https://console.example.com has not answered since 2025-12-31T23:59:00Z (503); at least 2 objects wait for it. Calls are repeated until it answers.",
    );
    expect(reportOf(undefined).objects[0]?.readiness.state).toBe("Ready");
  });

  test.each([
    [0, ""],
    [1, "; 1 object waits for it"],
    [2, "; 2 objects wait for it"],
    [3, "; at least 2 objects wait for it"],
    [7, "; at least 5 objects wait for it"],
    [19, "; at least 10 objects wait for it"],
    [5_000, "; at least 5000 objects wait for it"],
  ])("says of %d waiting objects: %s", (waiting, text) => {
    expect(authentication(seen(waiting)).message).toContain(`(503)${text}. Calls`);
  });

  test("says the same until the number has about doubled", () => {
    const texts = Array.from(
      { length: 10_001 },
      (_, waiting) => authentication(seen(waiting)).message,
    );
    expect(new Set(texts).size).toBeLessThanOrEqual(15);
  });
});

test("an ApiKey that has keys of two accounts is counted once", async () => {
  const conditions = [{ type: "Ready", status: "False", reason: "Unavailable" }];
  const apiKey = { metadata: { namespace: "team-a", name: "key" }, status: { conditions } };
  const accounts = ["ci", "ci-2"].map((name) => ({ metadata: { namespace: "team-a", name } }));
  const store = { byIndex: () => [apiKey] };
  const caches = {
    of: () => ({ get: () => undefined, byIndex: () => accounts }),
    indexedBy: (index: string) =>
      index === indexes.serviceAccount ? [{ type: apiKeyType, store }] : [],
  };
  const outage = { since: NOW - MINUTE, code: "503" };
  const registry = { sessions: { get: () => undefined, outageOf: () => outage } };
  const found = await observe(
    "ClusterConnection",
    snapshot.object,
    { ok: true, suspend: true, spec },
    { registry, operatorNamespace: "iam" } as never,
    { caches } as never,
    new AbortController().signal,
  );
  expect(found.outage).toEqual({ ...outage, waiting: 1 });
});
