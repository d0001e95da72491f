import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AccountTurn } from "../../../src/controllers/api-key/account-turn.ts";
import { Memory } from "../../../src/controllers/api-key/memory.ts";
import { fromState, type State, toState } from "../../../src/controllers/api-key/observed.ts";
import {
  newTrouble,
  nextLookMs,
  readinessOf,
  statusOf,
} from "../../../src/controllers/api-key/report.ts";
import { DAY, HOUR } from "../../../src/util/time.ts";
import {
  at,
  current,
  delivered,
  holding,
  keySpec,
  NOW,
  noState,
  object,
  owner,
  pair,
  seen,
  superseded,
} from "./builders.ts";

const rest = { kind: "Rest" } as const;
const block = { state: "Reconciling", reason: "BudgetExceeded", message: "Tomorrow." } as const;
const old = current(1, { issueTime: NOW - 85 * DAY, expirationTime: NOW + 5 * DAY });
const aged = delivered({ target: holding(pair(1, 85 * DAY)), state: { current: old } });
const gone = { ...owner, deletingSince: NOW, hasFinalizer: true, rotateToken: undefined };
const held = "Key sak_1 is in Secret ci and valid until 2026-04-09T00:00:00Z.";

describe("readiness", () => {
  test.each([
    ["a key in use", delivered(), rest, "Ready", "KeyDelivered", held],
    ["nothing yet", seen(), rest, "Reconciling", "Pending", "The key is not in its Secret yet."],
    [
      "nothing yet, and no way to it",
      seen(),
      { kind: "Rest", block } as const,
      "Reconciling",
      "BudgetExceeded",
      "Tomorrow.",
    ],
    [
      "a key in use whose successor must wait",
      delivered(),
      { kind: "Rest", block } as const,
      "Ready",
      "BudgetExceeded",
      `${held} Tomorrow.`,
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
      delivered({ state: { current: current(1, { verificationTime: undefined }) } }),
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
      { ...aged, spec: keySpec({ suspend: true }) },
      rest,
      "Ready",
      "ExpiringSoon",
      "Key sak_1 is in Secret ci and valid until 2026-01-15T00:00:00Z. It has not been renewed. spec.suspend is true: nothing is issued or written for this ApiKey.",
    ],
    [
      "suspended without a key",
      seen({ spec: keySpec({ suspend: true }) }),
      rest,
      "Stalled",
      "Suspended",
      "spec.suspend is true: nothing is issued or written for this ApiKey.",
    ],
    [
      "going",
      seen({ self: gone }),
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
    expect(statusOf(delivered(), rest, at())).toMatchInlineSnapshot(`
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
            "message": "A key may be issued when one is due.",
            "observedGeneration": 1,
            "reason": "NothingForbids",
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
        "renewalTime": "2026-03-06T03:32:38Z",
        "secretName": "ci",
      }
    `);
  });

  test("superseded keys expire in the list and leave it a day later, orphans leave at once", () => {
    const key = (ago: number) => superseded(1, { keyId: `k${ago}`, expirationTime: NOW - ago });
    const orphan = (left: number) => ({
      keyId: `o${left}`,
      attemptId: "a",
      observedTime: NOW,
      expirationTime: NOW + left,
    });
    const state = { superseded: [key(-HOUR), key(0), key(DAY)], orphaned: [orphan(0), orphan(1)] };
    const status = statusOf(delivered({ state }), rest, at());
    expect(status.superseded?.map((each) => [each.keyId, each.state])).toEqual([
      [`k${-HOUR}`, "Live"],
      ["k0", "Expired"],
    ]);
    expect(status.orphaned?.map(({ keyId }) => keyId)).toEqual(["o1"]);
    expect(status.orphanCount).toBe(1);
  });

  test("conditions keep their transition time until they turn", () => {
    const first = statusOf(delivered(), rest, at());
    const second = statusOf(
      delivered({ object: object(first) }),
      { kind: "Rest", block },
      at(HOUR),
    );
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
      statusOf({ ...world, object: { ...world.object, metadata } }, rest, at())
        .lastHandledReconcileAt,
    ).toBe("t");
  });

  test("the next look is at the next thing that is due", () => {
    expect(nextLookMs(delivered(), NOW)).toBe(DAY);
    expect(
      nextLookMs(
        delivered({ state: { superseded: [superseded(2, { supersededTime: NOW - 23 * HOUR })] } }),
        NOW,
      ),
    ).toBe(HOUR);
    expect(
      nextLookMs(
        seen({
          state: {
            orphaned: [{ keyId: "o", attemptId: "a", observedTime: NOW, expirationTime: NOW + 5 }],
          },
        }),
        NOW,
      ),
    ).toBe(5);
  });

  test("a warning comes once, when something turns bad", () => {
    const condition = (type: string, status: "True" | "False", reason: string) => ({
      type,
      status,
      reason,
      message: `${reason}.`,
      lastTransitionTime: "2026-01-01T00:00:00Z",
    });
    const stalled = [condition("Stalled", "True", "SecretNotOurs")];
    expect(newTrouble([], stalled)?.reason).toBe("SecretNotOurs");
    expect(newTrouble(stalled, stalled)).toBeUndefined();
    expect(newTrouble(stalled, [condition("Stalled", "True", "Other")])?.reason).toBe("Other");
    expect(
      newTrouble(
        [condition("Verified", "True", "x")],
        [condition("Verified", "False", "KeyRefused")],
      )?.reason,
    ).toBe("KeyRefused");
    expect(newTrouble([], [condition("Ready", "True", "ExpiringSoon")])?.reason).toBe(
      "ExpiringSoon",
    );
    expect(
      newTrouble(
        [condition("Ready", "True", "ExpiringSoon")],
        [condition("Ready", "True", "ExpiringSoon")],
      ),
    ).toBeUndefined();
  });
});

test("a state comes back from its status as it was", () => {
  const instant = fc.integer({ min: 0, max: 4_000_000 }).map((seconds) => NOW + seconds * 1_000);
  const id = fc.string({ minLength: 1, maxLength: 8 });
  const life = { keyId: id, issueTime: instant, expirationTime: instant };
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const state: fc.Arbitrary<State> = fc.record({
    current: maybe(
      fc.record({ ...life, verificationTime: maybe(instant), revision: fc.integer({ min: 1 }) }),
    ),
    attempt: maybe(
      fc.record({
        id,
        revision: fc.nat(),
        reason: id,
        startTime: instant,
        expiresInDays: maybe(fc.integer({ min: 1, max: 3_650 })),
        knownKeyIds: maybe(fc.array(id)),
      }),
    ),
    superseded: fc.array(
      fc.record({
        ...life,
        supersededTime: instant,
        state: fc.constantFrom("Live", "Disabled", "Deleted", "Expired"),
      }),
    ),
    orphaned: fc.array(
      fc.record({
        keyId: maybe(id),
        attemptId: id,
        observedTime: instant,
        expirationTime: instant,
      }),
    ),
    issuances: maybe(fc.record({ windowStartTime: instant, count: fc.nat() })),
    handledRotateToken: maybe(id),
    rotationPending: fc.boolean(),
  });
  fc.assert(
    fc.property(state, (each) => {
      const stored = JSON.parse(JSON.stringify(fromState(each)));
      expect(toState(stored)).toEqual(each);
    }),
  );
  expect(toState(undefined)).toEqual(noState);
});

describe("turns", () => {
  test("one at a time, the others are woken in order, one that has no turn gives none back", () => {
    const woken: string[] = [];
    const turn = new AccountTurn((key) => woken.push(key));
    expect([turn.take("sa", "a"), turn.take("sa", "b"), turn.take("sa", "c")]).toEqual([
      undefined,
      "a",
      "a",
    ]);
    expect(turn.take("other", "b")).toBeUndefined();
    turn.leave("sa", "b");
    expect(woken).toEqual([]);
    turn.leave("sa", "a");
    expect([woken, turn.take("sa", "b"), turn.take("sa", "a")]).toEqual([["b"], undefined, "b"]);
    turn.leave("sa", "b");
    expect(woken).toEqual(["b", "c"]);
  });

  const line = () => {
    const woken: string[] = [];
    const turn = new AccountTurn((key) => woken.push(key));
    turn.take("sa", "a");
    turn.take("sa", "b");
    turn.take("sa", "c");
    return { woken, turn };
  };

  test("one that was called and has no use for the turn passes it on", () => {
    const { woken, turn } = line();
    turn.leave("sa", "a");
    turn.leave("sa", "b");
    expect(woken).toEqual(["b", "c"]);
  });

  test("one that was called and has to wait again goes to the end, and wakes nobody", () => {
    const { woken, turn } = line();
    turn.leave("sa", "a");
    turn.wait("sa", "b");
    turn.leave("sa", "b");
    expect(woken).toEqual(["b"]);
    turn.passOn("sa");
    turn.leave("sa", "c");
    expect(woken).toEqual(["b", "c", "b"]);
  });

  test("nobody is woken while somebody has the turn, or was called and has not answered", () => {
    const { woken, turn } = line();
    turn.passOn("sa");
    expect(woken).toEqual([]);
    turn.leave("sa", "a");
    turn.passOn("sa");
    expect(woken).toEqual(["b"]);
  });

  test("one that is gone is neither waited for nor woken", () => {
    const { woken, turn } = line();
    turn.forget("b");
    turn.forget("a");
    expect(woken).toEqual(["c"]);
    turn.forget("c");
    expect(turn.holderOf("sa")).toBeUndefined();
  });
});

describe("memory", () => {
  const held = { attemptId: "a1", pair: pair(1) };
  test("holds a pair until it is written", () => {
    const memory = new Memory();
    memory.update("u", { held });
    memory.update("u", { triedAt: NOW });
    expect([memory.holding, memory.of("u")]).toEqual([["u"], { held, triedAt: NOW }]);
    memory.update("u", { held: undefined });
    expect([memory.holding, memory.of("u")]).toEqual([[], { triedAt: NOW }]);
  });

  test("an announced attempt holds up others of the account until it is settled, taken back, or its object gone", () => {
    const memory = new Memory();
    for (const end of [
      () => memory.settle("ns/sa", "a1"),
      () => memory.withdraw("ns/sa", "a1"),
      () => memory.withdrawAll("ns", "ci"),
    ]) {
      memory.announce("ns/sa", "a1", "ci");
      expect(memory.announcers("ns/sa", "ci")).toEqual([]);
      expect(memory.announcers("ns/sa", "b")).toEqual(["ci"]);
      expect(memory.announcers("ns/other", "b")).toEqual([]);
      end();
      expect(memory.announcers("ns/sa", "b")).toEqual([]);
    }
    memory.announce("ns/sa", "a2", "other");
    memory.withdrawAll("ns", "ci");
    memory.withdrawAll("n", "other");
    expect(memory.announcers("ns/sa", "b")).toEqual(["other"]);
    expect([memory.isSettled("a1"), memory.isSettled("a2")]).toEqual([true, false]);
  });
});
