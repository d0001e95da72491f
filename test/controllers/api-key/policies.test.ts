import { describe, expect, test } from "vitest";
import {
  firstFinding,
  mustIssue,
  mustNotIssue,
} from "../../../src/controllers/api-key/policies.ts";
import { DAY, HOUR, MINUTE } from "../../../src/util/time.ts";
import {
  account,
  at,
  current,
  delivered,
  foreign,
  holding,
  keySpec,
  NOW,
  owner,
  pair,
  seen,
  superseded,
  timing,
} from "./builders.ts";

const asked = { ...owner, deletingSince: undefined, hasFinalizer: true, rotateToken: "now" };
const why = { reason: "RotationDue", message: "Because." };
const used = (count: number, agoMs = 0) => ({ issuances: { windowStartTime: NOW - agoMs, count } });
const alive = [superseded(1), superseded(2)];
const orphan = (number: number, observedTime: number) => ({
  keyId: `sak_${number}`,
  attemptId: `attempt-${number}`,
  observedTime,
  expirationTime: observedTime + 90 * DAY,
});
/** As many as may be alive. */
const lost = (agoMs = 0) => [1, 2, 3].map((number) => orphan(number, NOW - agoMs));
const TOO_MANY = "TooManyLiveKeys";

describe("a key is needed", () => {
  test.each([
    ["not while all is well", delivered(), undefined],
    ["for a new object", seen(), "NoKeyYet"],
    ["on request", delivered({ self: asked }), "RotationRequested"],
    [
      "not for a request that was answered",
      delivered({ self: asked, state: { handledRotateToken: "now" } }),
      undefined,
    ],
    ["where the Secret is gone", delivered({ target: { kind: "Absent" } }), "SecretMissing"],
    ["where the Secret is another's", delivered({ target: foreign() }), "SecretReplaced"],
    [
      "where an edit broke the pair",
      delivered({ target: { ...holding(pair(1)), pair: undefined } as never }),
      "SecretEdited",
    ],
    [
      "where a superseded key was put back",
      delivered({ state: { current: current(2), superseded: [superseded(1)] } }),
      "SecretEdited",
    ],
    [
      "where a forgotten key was put back",
      delivered({ state: { current: current(2) } }),
      "SecretEdited",
    ],
    [
      "where the console refuses it for long",
      delivered({ rejection: { keyId: "sak_1", since: at().monotonic - 2 * MINUTE } }),
      "KeyRefused",
    ],
    [
      "not where it was refused just now",
      delivered({ rejection: { keyId: "sak_1", since: at().monotonic - MINUTE } }),
      undefined,
    ],
    [
      "after its expiry",
      delivered({
        state: { current: current(1, { issueTime: NOW - 90 * DAY, expirationTime: NOW }) },
      }),
      "KeyExpired",
    ],
    [
      "when it is due",
      delivered({
        state: {
          current: current(1, { issueTime: NOW - 61 * DAY, expirationTime: NOW + 29 * DAY }),
        },
      }),
      "RotationDue",
    ],
    [
      "where a requested rotation was interrupted",
      delivered({ state: { rotationPending: true } }),
      "RotationInterrupted",
    ],
  ])("%s", (_, world, reason) => {
    expect(firstFinding(mustIssue, world, at(), timing)?.reason).toBe(reason);
  });
});

describe("a key may not be issued", () => {
  test.each([
    ["unless something forbids it", seen(), undefined],
    [
      "without an account",
      seen({ account: { kind: "Waiting", reason: "ServiceAccountNotFound", message: "" } }),
      "ServiceAccountNotFound",
    ],
    ["into a foreign Secret", seen({ target: foreign() }), "SecretNotOurs"],
    [
      "into one that must not be adopted",
      seen({ target: foreign(false), spec: keySpec({ secret: { onExisting: "Adopt" } }) }),
      "SecretNotOurs",
    ],
    [
      "but into one that may",
      seen({ target: foreign(), spec: keySpec({ secret: { onExisting: "Adopt" } }) }),
      undefined,
    ],
    ["past a foreign staging Secret", seen({ staging: foreign() }), "SecretNotOurs"],
    [
      "for longer than granted",
      seen({ account: { ...account, maxExpiresInDays: 89 } }),
      "LifetimeNotGranted",
    ],
    ["over the budget of a day", seen({ state: used(4, DAY - 1) }), "BudgetExceeded"],
    ["but on the next day", seen({ state: used(4, DAY) }), undefined],
    ["but with budget left", seen({ state: used(3) }), undefined],
    ["but on request", seen({ state: used(4), self: asked }), undefined],
    ["while too many are alive", delivered({ state: { superseded: alive } }), "TooManyLiveKeys"],
    ["but while one less is", delivered({ state: { superseded: alive.slice(1) } }), undefined],
    [
      "but while some are disabled",
      delivered({
        state: { superseded: alive.map((key) => ({ ...key, state: "Disabled" as const })) },
      }),
      undefined,
    ],
    [
      "but on request, however many are alive",
      delivered({ state: { superseded: alive }, self: asked }),
      undefined,
    ],
    [
      "but shortly before the end",
      delivered({
        state: {
          superseded: alive,
          current: current(1, { issueTime: NOW - 89 * DAY, expirationTime: NOW + DAY }),
        },
      }),
      undefined,
    ],
    [
      "while the first key was lost again and again",
      seen({ state: { orphaned: lost() } }),
      TOO_MANY,
    ],
    [
      "but a day later, since nobody has a key yet",
      seen({ state: { orphaned: lost(DAY) } }),
      undefined,
    ],
    [
      "nor on that day where one more is lost already",
      seen({ state: { orphaned: [...lost(DAY), orphan(4, NOW - DAY)] } }),
      TOO_MANY,
    ],
    [
      "but when one of them has expired",
      seen({
        state: { orphaned: [...lost().slice(1), { ...orphan(1, NOW), expirationTime: NOW }] },
      }),
      undefined,
    ],
    [
      "but for a first key on request, however many are lost",
      seen({ state: { orphaned: lost() }, self: asked }),
      undefined,
    ],
    [
      "shortly before the end, where one was lost just now",
      delivered({
        state: {
          superseded: alive.slice(1),
          orphaned: [orphan(3, NOW)],
          current: current(1, { issueTime: NOW - 89 * DAY, expirationTime: NOW + DAY }),
        },
      }),
      TOO_MANY,
    ],
    ["while a peer is issuing", seen({ unsettledPeer: "other" }), "WaitingForPeer"],
  ])("%s", (_, world, reason) => {
    expect(firstFinding(mustNotIssue, world, at(), why)?.reason).toBe(reason);
  });

  test("keys that are lost one after the other come ever more seldom, and never stop for good", () => {
    const spec = keySpec({});
    let orphaned: readonly ReturnType<typeof orphan>[] = [];
    const issued: number[] = [];
    for (let now = NOW; now < NOW + 88 * DAY; now += HOUR) {
      const world = seen({ spec, state: { orphaned } });
      if (firstFinding(mustNotIssue, world, { ...at(), now }, why) !== undefined) continue;
      issued.push(now);
      orphaned = [...orphaned, orphan(issued.length, now)];
    }
    const days = issued.map((now) => Math.floor((now - NOW) / DAY));
    expect(days).toEqual([0, 0, 0, 1, 3, 7, 15, 31, 63]);
  });

  test("a block says what to do and until when", () => {
    expect(firstFinding(mustNotIssue, seen({ state: used(4) }), at(), why)).toEqual({
      reason: "BudgetExceeded",
      message:
        "Because. But 4 keys were issued since 2026-01-10T00:00:00Z, which is all that maxIssuesPerDay allows; the next one may follow at 2026-01-11T00:00:00Z, or when you set the annotation iam-operator.io/rotate-requested-at.",
      state: "Reconciling",
      until: NOW + DAY,
    });
    expect(firstFinding(mustNotIssue, seen({ target: foreign() }), at(), why)?.message).toBe(
      "Secret ci exists and is not this ApiKey's: it lacks the label iam-operator.io/api-key: ci. Delete it, choose another secret.name, or set secret.onExisting: Adopt.",
    );
  });
});
