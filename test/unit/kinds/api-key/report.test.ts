import { describe, expect, test } from "vitest";
import { IamError } from "../../../../src/console/errors.ts";
import { contentHash } from "../../../../src/kinds/api-key/rules/content.ts";
import { readinessOf } from "../../../../src/kinds/api-key/rules/readiness.ts";
import { nextDueMs, report } from "../../../../src/kinds/api-key/rules/report.ts";
import type { ApiKeySnapshot, ReadyAccount } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import type { SecretView } from "../../../../src/kinds/api-key/secret/view.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import {
  account,
  at,
  current,
  delivered,
  foreign,
  holding,
  keySpec,
  NOW,
  object,
  ofBot,
  owner,
  pair,
  reportedStatus,
  snapshot,
  superseded,
  timing,
  values,
} from "./builders.ts";

const rest = { kind: "Settled" } as const;
const suspended = { kind: "Suspended" } as const;
const blocked = {
  kind: "Waiting",
  condition: "IssuanceAllowed",
  state: "Reconciling",
  reason: "BudgetExceeded",
  message: "Tomorrow.",
} as const;
const unavailable = {
  state: "Reconciling",
  reason: "Unavailable",
  message: "The console is down.",
} as const;
const down = { kind: "Failed", error: new Error("down"), readiness: unavailable } as const;
const old = current(1, { issueTime: NOW - 85 * DAY, expirationTime: NOW + 5 * DAY });
const aged = delivered({ target: holding(pair(1, 85 * DAY)), status: { current: old } });
const gone = { self: { ...owner, deletingSince: NOW, rotateToken: undefined } };

const asked = { self: { ...owner, deletingSince: undefined, rotateToken: "now" } };
const absent = { target: { kind: "Absent" } } as const;
const withoutPair = { ...holding(pair(1)), pair: undefined } as SecretView;
const unverified = { status: { current: current(1, { verificationTime: undefined }) } };
const agedLater = {
  ...aged,
  spec: keySpec({ rotation: { renewBefore: "1h" } }),
  self: { ...aged.self, uid: "0" },
};
const listing = (changes: Partial<ReadyAccount>) => ({
  account: { ...account, listsKeys: true, liveKeyIds: [], lastKeyListTime: NOW, ...changes },
});
const overlapping = keySpec({
  secret: {
    data: {
      id: "${keyId}",
      key: "${secret}",
      old: "${previousSecret}",
      oldId: "${previousKeyId}",
    },
  },
});
const withFormer = delivered({
  spec: overlapping,
  target: holding(pair(1), overlapping, { keyId: "sak_0", secret: new Redacted("former") }),
});
const hash = contentHash(overlapping.secret.data, values, pair(1));
const afterOverlap = {
  ...withFormer,
  object: { ...withFormer.object, status: { content: { hash } } },
};
const noting = keySpec({ secret: { data: { ...keySpec().secret.data, note: "${tpn}" } } });
const deletedLacking = delivered({
  ...gone,
  spec: noting,
  object: object({ content: { hash: contentHash(noting.secret.data, values, pair(1)) } }),
});
const PENDING = "Reconciling Pending: The key is not in its Secret yet.";
const HELD = "Key sak_1 is in Secret ci and valid until 2026-04-09T00:00:00Z.";
const AGED = "Key sak_1 is in Secret ci and valid until 2026-01-15T00:00:00Z.";
const GONE =
  "Workloads find no valid key pair. Secret ci is gone, and with it the only copy of the key's secret.";
const DOWN = "Reconciling Unavailable: The console is down.";
const PAUSED = "spec.suspend is true: nothing is done for this object until it is false.";

test.each<[string, ApiKeySnapshot, Outcome, string]>([
  ["a key in use", delivered(), rest, `Ready KeyDelivered: ${HELD}`],
  [
    "a key for more days than the spec has now",
    delivered({ spec: keySpec({ expiresInDays: 30 }) }),
    rest,
    `Ready KeyDelivered: ${HELD} It was issued before spec.expiresInDays became 30, which applies to the next key. To replace this key now, run kubectl iam rotate, or set the annotation iam-operator.io/rotate-requested-at.`,
  ],
  [
    "a key for fewer days than the spec has now",
    delivered({ spec: keySpec({ expiresInDays: 200 }) }),
    rest,
    `Ready KeyDelivered: ${HELD}`,
  ],
  [
    "a value of the annotation that was handled before another one",
    delivered({
      self: { ...asked.self, rotateToken: "a" },
      status: { lastHandledRotateAt: "b", earlierRotateRequests: ["a"] },
    }),
    rest,
    `Ready KeyDelivered: ${HELD} The value of the annotation iam-operator.io/rotate-requested-at was handled before: it requests no rotation.`,
  ],
  [
    "the value of the annotation that was handled last",
    delivered({ self: { ...asked.self, rotateToken: "b" }, status: { lastHandledRotateAt: "b" } }),
    rest,
    `Ready KeyDelivered: ${HELD}`,
  ],
  ["nothing yet", snapshot(), rest, PENDING],
  ["nothing yet, and no way to it", snapshot(), blocked, "Reconciling BudgetExceeded: Tomorrow."],
  ["a successor must wait", delivered(), blocked, `Ready BudgetExceeded: ${HELD} Tomorrow.`],
  [
    "a requested rotation must wait",
    delivered(asked),
    blocked,
    `Ready BudgetExceeded: ${HELD} Tomorrow. The requested rotation waits for this.`,
  ],
  [
    "a requested rotation of an ApiKey that is being deleted",
    delivered({ ...gone, status: { rotationPending: true } }),
    down,
    `Ready Unavailable: ${HELD} The console is down.`,
  ],
  [
    "a requested rotation that nothing holds up",
    delivered(asked),
    rest,
    `Ready KeyDelivered: ${HELD}`,
  ],
  [
    "a requested rotation of a suspended ApiKey",
    delivered(asked),
    suspended,
    `Ready KeyDelivered: ${HELD} The requested rotation waits at least until spec.suspend is false.`,
  ],
  [
    "a rotation that was interrupted while the console is down",
    delivered({ status: { rotationPending: true } }),
    down,
    `Ready Unavailable: ${HELD} The console is down. The requested rotation waits for this.`,
  ],
  [
    "a key that is refused",
    delivered({ rejection: { keyId: "sak_1", since: 0 } }),
    down,
    "Reconciling Unavailable: Workloads find no valid key pair. The console rejects key sak_1. The console is down.",
  ],
  ["a key that was never tried", delivered(unverified), rest, PENDING],
  ["a key whose Secret is gone", delivered(absent), rest, `Reconciling Pending: ${GONE}`],
  [
    "a key whose Secret is gone while a requested rotation must wait",
    delivered({ ...asked, ...absent }),
    blocked,
    `Reconciling BudgetExceeded: ${GONE} Tomorrow.`,
  ],
  [
    "a key whose Secret is gone, if the wait says so",
    delivered(absent),
    {
      ...blocked,
      message: "Secret ci is gone, and with it the only copy of the key's secret. But.",
    },
    `Reconciling BudgetExceeded: ${GONE} But.`,
  ],
  [
    "a suspended key whose Secret is gone",
    delivered(absent),
    suspended,
    `Stalled Suspended: ${GONE} ${PAUSED}`,
  ],
  [
    "a key whose Secret was replaced",
    delivered({ target: foreign() }),
    down,
    "Reconciling Unavailable: Secret ci was replaced by a Secret that is not this ApiKey's: it lacks the label iam-operator.io/api-key: ci. The console is down.",
  ],
  [
    "a key whose Secret was edited",
    delivered({ target: withoutPair }),
    down,
    "Reconciling Unavailable: Secret ci was edited, and what is left does not prove that it holds the key pair. The console is down.",
  ],
  [
    "a key that has expired",
    delivered({ status: { current: current(1, { expirationTime: NOW }) } }),
    down,
    "Reconciling Unavailable: Workloads find no valid key pair. Key sak_1 expired at 2026-01-10T00:00:00Z. The console is down.",
  ],
  ["a deleted key whose Secret is gone", delivered({ ...gone, ...absent }), down, DOWN],
  [
    "a deleted key whose Secret lacks an entry",
    deletedLacking,
    down,
    `Ready Unavailable: ${HELD} The console is down.`,
  ],
  ["a key near its end", aged, rest, `Ready ExpiringSoon: ${AGED} It has not been renewed.`],
  ["a key near its end, renewed later", agedLater, rest, `Ready KeyDelivered: ${AGED}`],
  [
    "suspended near the end",
    aged,
    suspended,
    `Ready ExpiringSoon: ${AGED} It has not been renewed. ${PAUSED}`,
  ],
  ["suspended without a key", snapshot(), suspended, `Stalled Suspended: ${PAUSED}`],
  ["suspended with a key", delivered(), suspended, `Ready KeyDelivered: ${HELD}`],
  ["suspended at the end of an overlap", afterOverlap, suspended, `Ready KeyDelivered: ${HELD}`],
  [
    "suspended with a key that the console rejects and no longer lists",
    delivered({ ...listing({}), rejection: { keyId: "sak_1", since: 0 } }),
    suspended,
    `Stalled Suspended: Workloads find no valid key pair. The console rejects key sak_1 and no longer lists it. ${PAUSED}`,
  ],
  ["going", snapshot(gone), rest, "Reconciling Deleting: The ApiKey is being deleted."],
])("readiness of %s", (_, world, ending, expected) => {
  const { state, reason, message } = readinessOf(world, ending, at());
  expect(`${state} ${reason}: ${message}`).toBe(expected);
});

describe("the status", () => {
  test.each([
    ["whose account is not ready, and that is not checked", "ServiceAccountNotReady", "Unknown"],
    ["over a connection that is not ready", "ConnectionNotReady", "True"],
  ])("of a key %s", (_, reason, status) => {
    const message = "Check it.";
    const account = { kind: "Waiting", state: "Reconciling", reason, message } as const;
    const { conditions } = reportedStatus(delivered({ account }), rest, at());
    const verified = conditions?.find(({ type }) => type === "Verified");
    expect(verified).toMatchObject({ status, reason: status === "True" ? "KeyAccepted" : reason });
  });

  test.each([
    ["deleted", { kind: "Absent" }, "SecretMissing"],
    ["replaced", foreign(), "SecretReplaced"],
  ] as const)(
    "of a key whose Secret was %s does not claim that it is checked",
    (_, target, reason) => {
      const { conditions } = reportedStatus(delivered({ target }), rest, at());
      const verified = conditions?.find(({ type }) => type === "Verified");
      expect(verified).toMatchObject({ status: "Unknown", reason });
    },
  );

  test("of a key in use, whole", () => {
    const condition = (type: string, reason: string, message: string) => ({
      ...{ type, status: "True", reason, message },
      ...{ lastTransitionTime: "2026-01-10T00:00:00Z", observedGeneration: 1 },
    });
    expect(reportedStatus(delivered(), rest, at())).toEqual({
      conditions: [
        condition("Ready", "KeyDelivered", HELD),
        condition("Verified", "KeyAccepted", "The console accepted key sak_1."),
        condition("IssuanceAllowed", "Allowed", "Nothing that would stop the next key is known."),
      ],
      content: { hash: "5f7ff2841d0aaa5e" },
      current: {
        keyId: "sak_1",
        revision: 1,
        ...ofBot,
        issueTime: "2026-01-09T00:00:00Z",
        expirationTime: "2026-04-09T00:00:00Z",
        verificationTime: "2026-01-09T00:00:00Z",
      },
      observedGeneration: 1,
      orphanCount: 0,
      renewalTime: "2026-03-08T22:18:48Z",
      secretName: "ci",
    });
  });

  const orphan = (keyId: string, expirationTime: number, late?: true) => ({
    keyId,
    attemptId: "a",
    observedTime: NOW - 90 * DAY,
    expirationTime,
    late,
    ...ofBot,
  });
  const orphaned = (...keys: readonly ReturnType<typeof orphan>[]) => ({ orphaned: keys });

  test("keys that have expired leave the lists a day later", () => {
    const key = (ago: number) => superseded(1, { keyId: `k${ago}`, expirationTime: NOW - ago });
    const orphans = orphaned(orphan("old", NOW - DAY), orphan("o0", NOW), orphan("o1", NOW + 1));
    const deleted = superseded(1, { keyId: "deleted", expirationTime: NOW, state: "Deleted" });
    const lists = { superseded: [key(-HOUR), key(0), key(DAY), deleted], ...orphans };
    const status = reportedStatus(delivered({ status: lists }), rest, at());
    const states = status.superseded?.map(({ keyId, state }) => [keyId, state]);
    expect(states).toEqual([
      [`k${-HOUR}`, "Live"],
      ["k0", "Expired"],
      ["deleted", "Deleted"],
    ]);
    expect(status.orphaned?.map(({ keyId }) => keyId)).toEqual(["o0", "o1"]);
    expect(status.orphanCount).toBe(1);
  });

  test.each([
    [DAY, ["late"], ["late"], 1],
    [DAY, [], undefined, 0],
    [DAY, undefined, undefined, 0],
    [-1, [], ["late"], 1],
  ])(
    "a late key that expired %i ms ago is listed while the console lists it: %j",
    (ago, liveKeyIds, ids, count) => {
      const status = orphaned(orphan("late", NOW - ago, true));
      const world = delivered({ account: { ...account, liveKeyIds }, status });
      const { orphaned: listed, orphanCount } = reportedStatus(world, rest, at());
      expect([listed?.map(({ keyId }) => keyId), orphanCount]).toEqual([ids, count]);
    },
  );

  test.each([
    ["as before", undefined, "sak_2"],
    ["as this process holds it", { attemptId: "a1", pair: pair(3) }, "sak_3"],
  ])("a pending pair is reported %s while the Secrets cannot be read", (_, held, keyId) => {
    const unread = { kind: "Unread", keyId: "sak_1", previousKeyId: undefined } as const;
    const pending = { keyId: "sak_2", expirationTime: "2026-04-10T00:00:00Z" };
    const secrets = { target: unread, pending: unread };
    const world = delivered({ ...secrets, held, object: object({ pending }) });
    expect(reportedStatus(world, down, at()).pending).toMatchObject({ keyId });
  });

  test("conditions keep their transition time until they turn", () => {
    const first = reportedStatus(delivered(), rest, at());
    const second = reportedStatus(delivered({ object: object(first) }), blocked, at(HOUR));
    const of = (status: typeof first, type: string) =>
      status.conditions?.find((each) => each.type === type);
    expect(of(second, "Ready")?.lastTransitionTime).toBe(of(first, "Ready")?.lastTransitionTime);
    expect(of(second, "IssuanceAllowed")).toMatchObject({
      status: "False",
      lastTransitionTime: "2026-01-10T01:00:00Z",
    });
  });

  test("an answered request to reconcile is noted", () => {
    const annotations = { "iam-operator.io/reconcile-requested-at": "t" };
    const asking = { ...object(), metadata: { ...object().metadata, annotations } };
    const status = reportedStatus(delivered({ object: asking }), rest, at());
    expect(status.lastHandledReconcileAt).toBe("t");
  });

  test.each<[string, ApiKeySnapshot, number]>([
    ["at the check of a key in use", delivered(), DAY],
    [
      "when an overlap ends",
      delivered({ status: { superseded: [superseded(2, { supersededTime: NOW - 23 * HOUR })] } }),
      HOUR,
    ],
    ["when an orphan expires", snapshot({ status: orphaned(orphan("o", NOW + 5)) }), 5],
    [
      "when an expired orphan leaves the list",
      snapshot({ status: orphaned(orphan("o", NOW - DAY + HOUR)) }),
      HOUR,
    ],
    [
      "when an expired key leaves the list",
      delivered({
        status: {
          superseded: [
            superseded(2, { supersededTime: NOW - 80 * DAY, expirationTime: NOW - DAY + HOUR }),
          ],
        },
      }),
      HOUR,
    ],
  ])("is due %s", (_, world, ms) => {
    expect(nextDueMs(world, false, { now: NOW })).toBe(ms);
  });
});

const reported = (world: ApiKeySnapshot, outcome: Outcome = rest, learned = {}) =>
  report({ ...world, ...learned }, outcome, at(), timing);

describe("a warning", () => {
  test("comes once when a key ends soon, for a suspended object as well", () => {
    const { objects, events } = reported(aged);
    expect(events).toMatchObject([{ event: { type: "Warning", reason: "ExpiringSoon" } }]);
    const told = { ...aged, object: object(reportedStatus(aged, rest, at())) };
    expect(reported(told).events).toEqual([]);
    expect(reported(aged, suspended).events).toHaveLength(1);
    expect(reported(aged, suspended).objects[0]?.suspended).toBe(false);
    expect(reported(delivered(), suspended).objects[0]?.suspended).toBe(true);
    expect(objects[0]?.write).toEqual({ resourceVersion: "5" });
  });

  test("comes when the console refuses the key", () => {
    const refused = reported(delivered({ rejection: { keyId: "sak_1", since: 0 } }));
    const verified = refused.objects[0]?.conditions?.find(({ type }) => type === "Verified");
    expect(verified).toMatchObject({ status: "False", reason: "KeyRefused", isWarning: true });
  });
});

const failed = (error: unknown): Outcome => ({
  kind: "Failed",
  error,
  readiness: { state: "Stalled", reason: "x", message: "y" },
});
const invalid = new KubeError("Invalid", "immutable");
const denied = new IamError("PermissionDenied", "no", { operation: "disableKey" });

describe("the next run", () => {
  const late = delivered({ lateKeys: [{ keyId: "sak_9", attemptId: "a9" }] });
  const refusal = { failedRevocations: new Map([["sak_0", denied]]) };

  test.each([
    ["after a wait", delivered(), { ...blocked, afterMs: 7 }, {}, 7],
    ["at the check of the Secret", delivered(), rest, {}, 0.9 * timing.secretCheckMs],
    ["where there is no room for late keys", late, rest, {}, 0.9 * timing.secretCheckMs],
    ["where an invalid Secret may go away", delivered(), failed(invalid), {}, timing.secretCheckMs],
    ["where a key cannot be ended", delivered(), failed(denied), refusal, timing.secretCheckMs],
    [
      "where a deletion is past its deadline",
      snapshot({ ...gone, object: blockedSince(object(), NOW - timing.deletionPatienceMs) }),
      blocked,
      {},
      0.9 * timing.secretCheckMs,
    ],
    ["where a deletion is refused", snapshot(gone), failed(denied), {}, 30_000],
    ["not before a change where only that helps", delivered(), failed(denied), {}, undefined],
  ] as const)("%s", (_, world, outcome, learned, ms) => {
    expect(reported(world, outcome, learned).requeueAfterMs).toBe(ms);
  });
});

const suspendedDeletion = { ...gone, spec: keySpec({ suspend: true }) };
test.each([
  ["runs while the console does not answer", gone, failed(denied), true],
  ["runs during a wait", gone, blocked, true],
  ["goes on as before after a failure of the operator", gone, failed(invalid), undefined],
  ["is left while suspended", suspendedDeletion, blocked, false],
  ["does not exist without a deletion", {}, blocked, undefined],
] as const)("the deadline of a deletion %s", (_, changes, outcome, expected) => {
  const [entry] = reported(snapshot(changes), outcome).objects;
  expect(entry?.isCleanupBlocked).toBe(expected);
});
