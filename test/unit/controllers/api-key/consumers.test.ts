import { describe, expect, test } from "vitest";
import type { ApiKeyStatus } from "../../../../src/api/api-key.ts";
import { findCondition } from "../../../../src/api/conditions.ts";
import { contentHash } from "../../../../src/controllers/api-key/rules/content.ts";
import { next } from "../../../../src/controllers/api-key/rules/next.ts";
import type {
  ApiKeyProgress,
  ApiKeySnapshot,
} from "../../../../src/controllers/api-key/rules/snapshot.ts";

import type { Consumers, ConsumersMode } from "../../../../src/controllers/consumers-board.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, HOUR, toIso8601 } from "../../../../src/util/time.ts";
import {
  account,
  at,
  current,
  delivered,
  having,
  holding,
  keySpec,
  NOW,
  object,
  pair,
  reportedStatus,
  snapshot,
  superseded,
  timing,
  values,
} from "./builders.ts";

const template = { id: "${keyId}", s: "${secret}", old: "${previousKeyId}:${previousSecret}" };
const hashOf = (revision: number, spec = keySpec()) =>
  contentHash(spec.secret.data, values, pair(revision));
const statusAfter = (world: ApiKeySnapshot | ApiKeyProgress, ms = 0) =>
  reportedStatus(world, { kind: "Settled" }, at(ms));

describe("the hash of a content", () => {
  test("changes with the key, with the template and with a value in use", () => {
    const other = { ...values, tpn: "tpn:other" };
    const hashes = [
      contentHash(template, values, pair(1)),
      contentHash(template, values, pair(2)),
      contentHash({ ...template, tpn: "${tpn}" }, values, pair(1)),
      contentHash({ ...template, tpn: "${tpn}" }, other, pair(1)),
    ];
    expect(new Set(hashes).size).toBe(4);
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{16}$/);
  });

  test("knows nothing of the secret, of values not in use, and of the order of entries", () => {
    const hash = contentHash(template, values, pair(1));
    const { old, s, id } = template;
    expect(contentHash(template, values, { ...pair(1), secret: new Redacted("other") })).toBe(hash);
    expect(contentHash(template, { ...values, tpn: "x" }, pair(1))).toBe(hash);
    expect(contentHash({ old, s, id }, values, pair(1))).toBe(hash);
  });

  test("is what it was: Pod templates carry it", () => {
    expect(contentHash(template, values, pair(1))).toBe("382170b809affb96");
  });
});

describe("the content in the status", () => {
  const known = { hash: "0".repeat(16), replacementTime: toIso8601(NOW - DAY) };
  const { content: _, ...bare }: ApiKeyStatus = { secretName: "ci" };

  test("the first one replaces nothing", () => {
    expect(statusAfter(delivered()).content).toEqual({ hash: hashOf(1) });
  });

  test("another one came now, and stays dated", () => {
    const changed = statusAfter(delivered({ object: object({ ...bare, content: known }) })).content;
    expect(changed).toEqual({ hash: hashOf(1), replacementTime: toIso8601(NOW) });
    const again = delivered({ object: object({ ...bare, content: changed }) });
    expect(statusAfter(again, HOUR).content).toEqual(changed);
  });

  test("the first one in a Secret that was somebody else's did replace something", () => {
    expect(statusAfter(having({ hasAdopted: true }, delivered())).content).toEqual({
      hash: hashOf(1),
      replacementTime: toIso8601(NOW),
    });
  });

  test.each<[string, ApiKeySnapshot]>([
    ["the Secret is gone", delivered({ target: { kind: "Absent" } })],
    [
      "the Secret was edited",
      delivered({ target: holding(pair(1), keySpec({ secret: { data: template } })) }),
    ],
    [
      "the account is not known",
      delivered({ account: { kind: "Waiting", state: "Reconciling", reason: "x", message: "y" } }),
    ],
    ["there is no key", snapshot()],
  ])("stays as it was where %s", (_, world) => {
    const status = statusAfter({ ...world, object: object({ ...bare, content: known }) });
    expect(status.content).toEqual(known);
  });

  test("does not change when the previous pair leaves the Secret", () => {
    const spec = keySpec({ secret: { data: template } });
    const previous = { keyId: "sak_0", secret: new Redacted("0".repeat(43)) };
    const during = delivered({
      spec,
      target: holding(pair(1), spec, previous),
      status: { superseded: [superseded(0)] },
    });
    const after = delivered({ spec, target: holding(pair(1), spec) });
    expect(statusAfter(during).content?.hash).toBe(hashOf(1, spec));
    expect(statusAfter(after).content?.hash).toBe(hashOf(1, spec));
  });
});

const content = { hash: hashOf(1), replacementTime: toIso8601(NOW - DAY) };
const counted = (stale: number, changes: object = {}): Consumers => ({
  kind: "Counted",
  hash: hashOf(1),
  pods: 3,
  stale,
  staleNames: ["api-1", "api-2"].slice(0, stale),
  ...changes,
});
const unread: Consumers = { kind: "Unknown", reason: "Forbidden", message: "The API said no." };
const looked = (
  mode: ConsumersMode,
  known: Consumers | undefined,
  stored: ApiKeyStatus = { content },
  spec: object = {},
) => delivered({ spec: keySpec(spec), object: object(stored), consumers: { mode, known } });
const before = { content, consumers: { pods: 2, stale: 1 } };
const extended = { rotation: { maxOverlapExtension: "72h" } };
const rollout = { rollout: { selector: {} } };
const note = { isDone: false, reason: "WorkloadNotFound", message: "There is no Deployment api." };

describe("what the status says about consumers", () => {
  test.each<[string, ApiKeySnapshot, object | undefined, string | undefined]>([
    ["nothing where they are not counted", looked("none", undefined, before), undefined, undefined],
    [
      "that an extension needs a count",
      looked("none", undefined, before, extended),
      undefined,
      "Unknown CountingDisabled",
    ],
    ["the count", looked("count", counted(0)), { pods: 3, stale: 0 }, "True AllCurrent"],
    ["who is behind", looked("count", counted(2)), { pods: 3, stale: 2 }, "False ConsumersStale"],
    ["nothing before the first count", looked("count", undefined), undefined, "Unknown Counting"],
    [
      "nothing from the count of another content",
      looked("count", counted(0, { hash: "x" })),
      undefined,
      "Unknown Counting",
    ],
    [
      "the last count after a start",
      looked("count", undefined, before),
      { pods: 2, stale: 1 },
      "Unknown Counting",
    ],
    [
      "the last count and why there is none now",
      looked("count", unread, before),
      { pods: 2, stale: 1 },
      "Unknown Forbidden",
    ],
    [
      "nothing of an older content's count",
      looked("count", unread, { ...before, content: { hash: "x" } }),
      undefined,
      "Unknown Forbidden",
    ],
  ])("%s", (_, world, consumers, condition) => {
    const status = statusAfter(world);
    expect(status.consumers).toEqual(consumers);
    const found = findCondition(status.conditions, "ConsumersCurrent");
    expect(found && `${found.status} ${found.reason}`).toBe(condition);
  });

  test.each<[string, ApiKeySnapshot, string | undefined]>([
    ["nothing without a rollout", looked("restart", counted(0)), undefined],
    [
      "that it is not allowed",
      looked("count", counted(0), { content }, rollout),
      "False RestartsDisabled",
    ],
    [
      "that it is not allowed at all",
      looked("none", undefined, { content }, rollout),
      "False RestartsDisabled",
    ],
    [
      "what stands in the way",
      looked("restart", counted(1, { rollout: note }), { content }, rollout),
      "False WorkloadNotFound",
    ],
    [
      "that it is done",
      looked(
        "restart",
        counted(0, { rollout: { ...note, isDone: true, reason: "NothingToRestart" } }),
        { content },
        rollout,
      ),
      "True NothingToRestart",
    ],
    [
      "nothing before the first look",
      looked("restart", undefined, { content }, rollout),
      undefined,
    ],
  ])("about a rollout: %s", (_, world, condition) => {
    const found = findCondition(statusAfter(world).conditions, "RolledOut");
    expect(found && `${found.status} ${found.reason}`).toBe(condition);
  });

  test("some of the stale Pods are named", () => {
    const world = looked("count", counted(2, { stale: 3 }));
    expect(findCondition(statusAfter(world).conditions, "ConsumersCurrent")?.message).toBe(
      "3 of 3 Pods still use an older version of the Secret: api-1, api-2 and 1 more.",
    );
  });

  test("a condition that is not needed any more goes", () => {
    const { conditions } = statusAfter(looked("count", counted(2)));
    const world = looked("none", undefined, { content, conditions });
    expect(findCondition(statusAfter(world).conditions, "ConsumersCurrent")).toBeUndefined();
  });
});

describe("the overlap", () => {
  const ends = { ...account, canDisableKeys: true };
  const world = (
    ageMs: number,
    known: Consumers | undefined,
    changes: {
      mode?: ConsumersMode;
      rotation?: object;
      stored?: ApiKeyStatus;
      expirationTime?: number;
    } = {},
  ) =>
    delivered({
      account: ends,
      spec: keySpec({ rotation: { maxOverlapExtension: "72h", ...changes.rotation } }),
      object: object(changes.stored ?? { content }),
      consumers: { mode: changes.mode ?? "count", known },
      status: {
        current: current(1),
        superseded: [
          superseded(0, {
            supersededTime: NOW - ageMs,
            ...(changes.expirationTime === undefined
              ? {}
              : { expirationTime: changes.expirationTime }),
          }),
        ],
      },
    });
  const none = { rotation: { maxOverlapExtension: undefined } };

  test.each<[string, ApiKeySnapshot, string]>([
    ["ends when nobody is behind", world(25 * HOUR, counted(0)), "DisableKey"],
    ["waits while somebody is", world(25 * HOUR, counted(1)), "Settled"],
    ["waits to the end of the bound", world(95 * HOUR, counted(1)), "Settled"],
    ["waits no longer than that", world(96 * HOUR, counted(1)), "DisableKey"],
    ["is never shorter than it is", world(23 * HOUR, counted(0)), "Settled"],
    ["waits where Pods cannot be read", world(25 * HOUR, unread), "Settled"],
    ["waits before the first count", world(25 * HOUR, undefined), "Settled"],
    ["waits for a count of this content", world(25 * HOUR, counted(0, { hash: "x" })), "Settled"],
    ["waits where nobody counts", world(25 * HOUR, undefined, { mode: "none" }), "Settled"],
    [
      "believes an earlier count of this content",
      world(25 * HOUR, unread, { stored: { content, consumers: { pods: 3, stale: 0 } } }),
      "DisableKey",
    ],
    [
      "does not believe that of an earlier content",
      world(25 * HOUR, unread, {
        stored: { content: { hash: "x" }, consumers: { pods: 3, stale: 1 } },
      }),
      "Settled",
    ],
    ["waits for nobody where it is not asked to", world(25 * HOUR, counted(1), none), "DisableKey"],
    [
      "does not end a key that has expired",
      world(25 * HOUR, counted(1), { expirationTime: NOW }),
      "Settled",
    ],
  ])("%s", (_, subject, expected) => {
    const accepted = { verdicts: new Map([[subject.status.current?.keyId ?? "", true]]) };
    expect(next(having(accepted, subject), at(), timing).kind).toBe(expected);
  });
});
