import { describe, expect, test } from "vitest";
import { readinessOf } from "../../../../src/controllers/api-key/rules/readiness.ts";
import { nextDueMs, report } from "../../../../src/controllers/api-key/rules/report.ts";
import type { ApiKeySnapshot } from "../../../../src/controllers/api-key/rules/snapshot.ts";
import type { Outcome } from "../../../../src/controllers/frame/rules/outcome.ts";
import { IamError } from "../../../../src/iam/errors.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { DAY, HOUR } from "../../../../src/util/time.ts";
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
  owner,
  pair,
  reportedStatus,
  snapshot,
  superseded,
  timing,
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
const gone = { ...owner, deletingSince: NOW, rotateToken: undefined };
const held = "Key sak_1 is in Secret ci and valid until 2026-04-09T00:00:00Z.";

describe("readiness", () => {
  test.each([
    ["a key in use", delivered(), rest, "Ready", "KeyDelivered", held],
    [
      "nothing yet",
      snapshot(),
      rest,
      "Reconciling",
      "Pending",
      "The key is not in its Secret yet.",
    ],
    [
      "nothing yet, and no way to it",
      snapshot(),
      blocked,
      "Reconciling",
      "BudgetExceeded",
      "Tomorrow.",
    ],
    [
      "a key in use whose successor must wait",
      delivered(),
      blocked,
      "Ready",
      "BudgetExceeded",
      `${held} Tomorrow.`,
    ],
    [
      "a requested rotation that must wait",
      delivered({ self: { ...owner, deletingSince: undefined, rotateToken: "now" } }),
      blocked,
      "Ready",
      "BudgetExceeded",
      `${held} Tomorrow. The requested rotation waits for this.`,
    ],
    [
      "a requested rotation of a suspended ApiKey",
      delivered({ self: { ...owner, deletingSince: undefined, rotateToken: "now" } }),
      suspended,
      "Ready",
      "KeyDelivered",
      `${held} The requested rotation starts when spec.suspend is false.`,
    ],
    [
      "a rotation that was interrupted while the console is down",
      delivered({ status: { rotationPending: true } }),
      down,
      "Ready",
      "Unavailable",
      `${held} The console is down. The requested rotation waits for this.`,
    ],
    [
      "a key that is refused",
      delivered({ rejection: { keyId: "sak_1", since: 0 } }),
      rest,
      "Reconciling",
      "Pending",
      "The key is not in its Secret yet.",
    ],
    [
      "a key that was never tried",
      delivered({ status: { current: current(1, { verificationTime: undefined }) } }),
      rest,
      "Reconciling",
      "Pending",
      "The key is not in its Secret yet.",
    ],
    [
      "a key whose Secret is gone",
      delivered({ target: { kind: "Absent" } }),
      rest,
      "Reconciling",
      "Pending",
      "The key is not in its Secret yet.",
    ],
    [
      "a key near its end",
      aged,
      rest,
      "Ready",
      "ExpiringSoon",
      "Key sak_1 is in Secret ci and valid until 2026-01-15T00:00:00Z. It has not been renewed.",
    ],
    [
      "a key near its end that is to be renewed later",
      {
        ...aged,
        spec: keySpec({ rotation: { renewBefore: "1h" } }),
        self: { ...aged.self, uid: "0" },
      },
      rest,
      "Ready",
      "KeyDelivered",
      "Key sak_1 is in Secret ci and valid until 2026-01-15T00:00:00Z.",
    ],
    [
      "suspended near the end",
      aged,
      suspended,
      "Ready",
      "ExpiringSoon",
      "Key sak_1 is in Secret ci and valid until 2026-01-15T00:00:00Z. It has not been renewed. spec.suspend is true: nothing is done for this object until it is false.",
    ],
    [
      "suspended without a key",
      snapshot(),
      suspended,
      "Stalled",
      "Suspended",
      "spec.suspend is true: nothing is done for this object until it is false.",
    ],
    ["suspended with a key", delivered(), suspended, "Ready", "KeyDelivered", held],
    [
      "going",
      snapshot({ self: gone }),
      rest,
      "Reconciling",
      "Deleting",
      "The ApiKey is being deleted.",
    ],
  ] as const)("%s", (_, world, ending, state, reason, message) => {
    expect(readinessOf(world, ending, at())).toEqual({ state, reason, message });
  });
});

describe("the status", () => {
  test("of a key in use, whole", () => {
    expect(reportedStatus(delivered(), rest, at())).toMatchInlineSnapshot(`
      {
        "conditions": [
          {
            "lastTransitionTime": "2026-01-10T00:00:00Z",
            "message": "Key sak_1 is in Secret ci and valid until 2026-04-09T00:00:00Z.",
            "observedGeneration": 1,
            "reason": "KeyDelivered",
            "status": "True",
            "type": "Ready",
          },
          {
            "lastTransitionTime": "2026-01-10T00:00:00Z",
            "message": "The console accepted key sak_1.",
            "observedGeneration": 1,
            "reason": "KeyAccepted",
            "status": "True",
            "type": "Verified",
          },
          {
            "lastTransitionTime": "2026-01-10T00:00:00Z",
            "message": "The operator can issue a key when it is due.",
            "observedGeneration": 1,
            "reason": "Allowed",
            "status": "True",
            "type": "IssuanceAllowed",
          },
        ],
        "content": {
          "hash": "5f7ff2841d0aaa5e",
        },
        "current": {
          "expirationTime": "2026-04-09T00:00:00Z",
          "issueTime": "2026-01-09T00:00:00Z",
          "keyId": "sak_1",
          "revision": 1,
          "verificationTime": "2026-01-09T00:00:00Z",
        },
        "observedGeneration": 1,
        "orphanCount": 0,
        "renewalTime": "2026-03-08T22:18:48Z",
        "secretName": "ci",
      }
    `);
  });

  test("keys that have expired leave the lists a day later", () => {
    const key = (ago: number) => superseded(1, { keyId: `k${ago}`, expirationTime: NOW - ago });
    const orphan = (left: number) => ({
      keyId: `o${left}`,
      attemptId: "a",
      observedTime: NOW,
      expirationTime: NOW + left,
      late: undefined,
    });
    const lists = {
      superseded: [key(-HOUR), key(0), key(DAY)],
      orphaned: [orphan(-DAY), orphan(0), orphan(1)],
    };
    const status = reportedStatus(delivered({ status: lists }), rest, at());
    expect(status.superseded?.map((each) => [each.keyId, each.state])).toEqual([
      [`k${-HOUR}`, "Live"],
      ["k0", "Expired"],
    ]);
    expect(status.orphaned?.map(({ keyId }) => keyId)).toEqual(["o0", "o1"]);
    expect(status.orphanCount).toBe(1);
  });

  test("a late key leaves the list once the console no longer lists it", () => {
    const late = {
      keyId: "late",
      attemptId: "a",
      observedTime: NOW - 90 * DAY,
      expirationTime: NOW - DAY,
      late: true,
    };
    const listed = (liveKeyIds: readonly string[] | undefined) =>
      reportedStatus(
        delivered({ account: { ...account, liveKeyIds }, status: { orphaned: [late] } }),
        rest,
        at(),
      );
    expect(listed(["late"])).toMatchObject({ orphaned: [{ keyId: "late" }], orphanCount: 1 });
    for (const gone of [listed([]), listed(undefined)])
      expect([gone.orphaned, gone.orphanCount]).toEqual([undefined, 0]);
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
    const world = delivered();
    const metadata = {
      ...world.object.metadata,
      annotations: { "iam-operator.io/reconcile-requested-at": "t" },
    };
    expect(
      reportedStatus({ ...world, object: { ...world.object, metadata } }, rest, at())
        .lastHandledReconcileAt,
    ).toBe("t");
  });

  test("the next look is at the next thing that is due", () => {
    expect(nextDueMs(delivered(), false, NOW)).toBe(DAY);
    expect(
      nextDueMs(
        delivered({ status: { superseded: [superseded(2, { supersededTime: NOW - 23 * HOUR })] } }),
        false,
        NOW,
      ),
    ).toBe(HOUR);
    expect(nextDueMs(orphanThatExpires(NOW + 5), false, NOW)).toBe(5);
  });

  test("an expired key leaves the lists when a day is over: there is a run then", () => {
    expect(nextDueMs(orphanThatExpires(NOW - DAY + HOUR), false, NOW)).toBe(HOUR);
    const old = superseded(2, { supersededTime: NOW - 80 * DAY, expirationTime: NOW - DAY + HOUR });
    expect(nextDueMs(delivered({ status: { superseded: [old] } }), false, NOW)).toBe(HOUR);
  });
});

function orphanThatExpires(expirationTime: number): ApiKeySnapshot {
  const orphan = { keyId: "o", attemptId: "a", observedTime: NOW, expirationTime, late: undefined };
  return snapshot({ status: { orphaned: [orphan] } });
}

const reported = (world: ApiKeySnapshot, outcome: Outcome = rest, done = {}) =>
  report(having(done, world), outcome, at(), timing);

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

describe("the next run", () => {
  const failed = (error: unknown): Outcome => ({
    kind: "Failed",
    error,
    readiness: { state: "Stalled", reason: "x", message: "y" },
  });
  const invalid = new KubeError("Invalid", "immutable");
  const denied = new IamError("PermissionDenied", "no", { operation: "disableKey" });
  const refusal = { failedRevocations: new Map([["sak_0", denied]]) };

  test.each([
    ["after a wait", delivered(), { ...blocked, afterMs: 7 }, {}, 7],
    ["at the check of the Secret", delivered(), rest, {}, timing.secretCheckMs],
    ["where an invalid Secret may go away", delivered(), failed(invalid), {}, timing.secretCheckMs],
    ["where a key cannot be ended", delivered(), failed(denied), refusal, timing.secretCheckMs],
    ["where a deletion is refused", snapshot({ self: gone }), failed(denied), {}, 30_000],
    ["not before a change where only that helps", delivered(), failed(denied), {}, undefined],
  ] as const)("%s", (_, world, outcome, done, ms) => {
    expect(reported(world, outcome, done).requeueAfterMs).toBe(ms);
  });
});
