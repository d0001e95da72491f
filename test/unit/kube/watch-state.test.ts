import { describe, expect, test } from "vitest";
import {
  backOffMs,
  INITIAL_STATE,
  type RestartReason,
  step,
  type WatchInput,
  type WatchState,
} from "../../../src/kube/watch/watch-state.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";

const retryState = { via: "stream", attempts: 0, openedAt: 0 } as const;
const initial: WatchState = { ...retryState, phase: "Initial" };
const paging: WatchState = { ...initial, via: "pages" };
const synced: WatchState = { ...retryState, phase: "Synced", version: "100" };
const resuming: WatchState = { ...retryState, phase: "Resuming", version: "100" };
const later = (ms: number, fraction = 0.5) => ({ at: ms, fraction });
const failed = (reason: RestartReason, ms = 0, waitAtLeastMs = 0): WatchInput<string> => ({
  kind: "Failed",
  reason,
  waitAtLeastMs,
  ...later(ms),
});
const changed = (version: string, deleted = false): WatchInput<string> => ({
  kind: "Changed",
  size: 0,
  deleted,
  object: "it",
  version,
});
const seen = (version: string, endsInitial = false): WatchInput<string> => ({
  kind: "Bookmark",
  version,
  endsInitial,
});

test("a start streams the initial objects", () => {
  expect(step(INITIAL_STATE, { kind: "Started" })).toEqual({
    state: { phase: "Initial", via: "stream", attempts: 0, openedAt: undefined },
    effects: [],
    next: { kind: "OpenStream", version: undefined },
  });
});

describe("events", () => {
  test.each<
    [string, WatchState, WatchInput<string>, unknown[], Partial<WatchState> & { version?: string }]
  >([
    [
      "an initial object is collected and moves no version",
      initial,
      changed("300"),
      [{ kind: "Collect", size: 0, deleted: false, object: "it" }],
      { phase: "Initial" },
    ],
    [
      "a deletion between initial objects is collected as such",
      initial,
      changed("300", true),
      [{ kind: "Collect", size: 0, deleted: true, object: "it" }],
      { phase: "Initial" },
    ],
    [
      "an ordinary bookmark does not end the initial objects",
      initial,
      seen("7"),
      [],
      { phase: "Initial" },
    ],
    [
      "the last bookmark swaps the content in",
      initial,
      seen("9", true),
      [{ kind: "Swap", version: "9" }],
      { phase: "Synced", version: "9" },
    ],
    [
      "a change is put and moves the version",
      synced,
      changed("101"),
      [{ kind: "Put", size: 0, object: "it" }],
      { version: "101" },
    ],
    [
      "a longer version is a newer one",
      synced,
      changed("1000"),
      [{ kind: "Put", size: 0, object: "it" }],
      { version: "1000" },
    ],
    [
      "a deletion removes",
      synced,
      changed("101", true),
      [{ kind: "Remove", size: 0, object: "it" }],
      { version: "101" },
    ],
    ["a replayed change is dropped", synced, changed("99"), [], { version: "100" }],
    ["a repeated change is dropped", synced, changed("100"), [], { version: "100" }],
    [
      "a bookmark moves the version",
      synced,
      seen("150"),
      [{ kind: "Advance", version: "150" }],
      { version: "150" },
    ],
    [
      "a bookmark at the same place changes nothing",
      synced,
      seen("100"),
      [{ kind: "Advance", version: "100" }],
      { version: "100" },
    ],
  ])("%s", (_, state, input, effects, expected) => {
    const result = step(state, input);
    expect(result.effects).toEqual(effects);
    expect(result.state).toMatchObject(expected);
    expect(result.next).toBeUndefined();
  });

  test("a bookmark further back means a restored etcd: everything is listed anew", () => {
    const { state, restart, next } = step(synced, seen("90"));
    expect(state).toMatchObject({ phase: "Backoff", version: undefined, attempts: 1 });
    expect([restart, next]).toEqual(["VersionWentBack", { kind: "Wait", ms: 0 }]);
  });

  test("pages replace the content and are watched from their version", () => {
    const { state, effects, next } = step(paging, { kind: "Listed", objects: ["a"], version: "5" });
    expect(state).toMatchObject({ phase: "Synced", version: "5" });
    expect(effects).toEqual([{ kind: "Replace", objects: ["a"], version: "5" }]);
    expect(next).toEqual({ kind: "OpenStream", version: "5" });
  });
});

describe("failures", () => {
  const keeps: RestartReason[] = [
    "RateLimited",
    "Initializing",
    "Unavailable",
    "Unauthenticated",
    "Forbidden",
    "NotFound",
    "Truncated",
    "EndedEarly",
  ];
  const loses: RestartReason[] = [
    "Gone",
    "Malformed",
    "Unsupported",
    "Unexpected",
    "VersionWentBack",
  ];

  test.each(keeps)("%s backs off and resumes where it was", (reason) => {
    for (const state of [synced, resuming]) {
      const result = step(state, failed(reason));
      expect(result).toMatchObject({
        state: { phase: "Backoff", version: "100", attempts: 1 },
        restart: reason,
        next: { kind: "Wait", ms: 400 },
      });
      expect(step(result.state, { kind: "Woke" })).toMatchObject({
        state: { phase: "Resuming", version: "100" },
        next: { kind: "CheckVersion" },
      });
    }
  });

  test.each(loses)("%s backs off and lists anew", (reason) => {
    for (const state of [synced, resuming]) {
      const result = step(state, failed(reason));
      expect(result).toMatchObject({
        state: { phase: "Backoff", version: undefined, attempts: 1 },
        restart: reason,
        next: { kind: "Wait", ms: 400 },
      });
      expect(step(result.state, { kind: "Woke" })).toMatchObject({
        state: { phase: "Initial" },
        next: { kind: "OpenStream", version: undefined },
      });
    }
  });

  test.each<RestartReason>(["Unsupported", "Idle"])(
    "%s during the initial stream turns to pages, for good",
    (reason) => {
      const result = step(initial, failed(reason));
      expect(result).toMatchObject({
        state: { phase: "Initial", via: "pages" },
        next: { kind: "ListPages" },
        restart: reason,
      });
      const gone = step(step(result.state, failed("Gone")).state, { kind: "Woke" });
      expect(gone.next).toEqual({ kind: "ListPages" });
    },
  );

  test("a server whose cache is not filled yet is asked for pages at once, but only once", () => {
    const pages = step(initial, failed("Initializing", 0, 1_000));
    expect(pages).toMatchObject({
      state: { phase: "Initial", via: "stream" },
      next: { kind: "ListPages" },
      restart: "Initializing",
    });
    const refused = step(pages.state, failed("Initializing", 0, 1_000));
    expect(refused.next).toEqual({ kind: "Wait", ms: 1_000 });
    const again = step(refused.state, { kind: "Woke" });
    expect(again.next).toEqual({ kind: "OpenStream", version: undefined });
    expect(step(again.state, failed("Initializing", 0, 9_000)).next).toEqual({
      kind: "Wait",
      ms: 9_000,
    });
  });

  const others = ["Unsupported", "Initializing"];
  test.each<RestartReason>([...keeps, ...loses].filter((reason) => !others.includes(reason)))(
    "%s during the initial stream backs off and streams again",
    (reason) => {
      const result = step(initial, failed(reason));
      expect(result.state).toMatchObject({ phase: "Backoff", via: "stream", version: undefined });
    },
  );

  test.each<RestartReason>(["Idle", "Deadline"])("%s resumes at once", (reason) => {
    expect(step(synced, failed(reason, 80 * SECOND))).toMatchObject({
      state: { phase: "Resuming", version: "100", attempts: 0 },
      next: { kind: "CheckVersion" },
      restart: reason,
    });
  });

  test("no wait is shorter than what the server asked for", () => {
    expect(step(synced, failed("RateLimited", 0, 7_000)).next).toEqual({ kind: "Wait", ms: 7_000 });
    expect(step({ ...synced, attempts: 9 }, failed("RateLimited", 0, 7_000)).next).toEqual({
      kind: "Wait",
      ms: 15_000,
    });
  });

  test("two minutes of health forgive earlier failures, less does not", () => {
    const shaky = { ...synced, attempts: 4 };
    expect(step(shaky, failed("Unavailable", 2 * MINUTE)).state.attempts).toBe(1);
    expect(step(shaky, failed("Unavailable", 2 * MINUTE - 1)).state.attempts).toBe(5);
  });

  test("a stream that never opened is not healthy, however long the last one lived", () => {
    const broken = step(synced, failed("Unavailable", MINUTE)).state;
    const again = step(step(broken, { kind: "Woke" }).state, failed("Unavailable", 60 * MINUTE));
    expect(again.state.attempts).toBe(2);
  });
});

describe("a closed stream", () => {
  test.each<[string, number, RestartReason, object]>([
    ["after its time is opened again", 5 * MINUTE, "Ended", { kind: "OpenStream", version: "100" }],
    ["before its time is checked first", MINUTE, "EndedEarly", { kind: "CheckVersion" }],
    ["at once backs off", SECOND, "EndedEarly", { kind: "Wait", ms: 400 }],
  ])("%s", (_, lasted, restart, next) => {
    expect(step(synced, { kind: "Closed", ...later(lasted) })).toMatchObject({ restart, next });
  });

  test("after its time is, now and then, followed by a new listing", () => {
    const closed = { kind: "Closed", at: 5 * MINUTE, fraction: 0.12 } as const;
    expect(step(synced, closed)).toMatchObject({
      state: { phase: "Initial", attempts: 0 },
      restart: "Ended",
      next: { kind: "OpenStream", version: undefined },
    });
    expect(step(synced, { ...closed, fraction: 0.13 }).next).toMatchObject({ version: "100" });
  });

  test("within the initial objects is a failure", () => {
    expect(step(initial, { kind: "Closed", ...later(10 * MINUTE) })).toMatchObject({
      state: { phase: "Backoff", version: undefined },
      restart: "EndedEarly",
    });
  });
});

describe("a check", () => {
  test.each<[string, string, object]>([
    ["at the same place resumes", "100", { kind: "OpenStream", version: "100" }],
    ["further on resumes", "2000", { kind: "OpenStream", version: "100" }],
    ["further back lists anew", "99", { kind: "Wait", ms: 0 }],
  ])("%s", (_, version, next) => {
    expect(step(resuming, { kind: "Checked", version }).next).toEqual(next);
  });
});

test("the back-off doubles from 0.8 to 30 seconds, with full jitter", () => {
  expect([0, 1, 2, 3, 4, 5, 6, 60].map((attempt) => backOffMs(attempt, 1))).toEqual([
    800, 1600, 3200, 6400, 12800, 25600, 30000, 30000,
  ]);
  expect(backOffMs(3, 0)).toBe(0);
  expect(backOffMs(3, 0.25)).toBe(1600);
});
