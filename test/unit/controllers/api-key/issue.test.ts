import { describe, expect, test } from "vitest";
import { blocks, nextVainAttempt } from "../../../../src/controllers/api-key/rules/blocks.ts";
import { needs } from "../../../../src/controllers/api-key/rules/needs.ts";
import { firstFinding } from "../../../../src/controllers/frame/rules/outcome.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../../../src/util/time.ts";
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
  snapshot,
  superseded,
  timing,
} from "./builders.ts";

const asked = { ...owner, deletingSince: undefined, rotateToken: "now" };
const why = { reason: "RotationDue", message: "Because." };
const used = (count: number, agoMs = 0) => ({ issuances: { windowStartTime: NOW - agoMs, count } });
const alive = [superseded(1), superseded(2)];
const orphan = (number: number, observedTime: number) => ({
  keyId: `sak_${number}`,
  attemptId: `attempt-${number}`,
  observedTime,
  expirationTime: observedTime + 90 * DAY,
  late: undefined,
});
/** As many as may be alive. */
const lost = () => [1, 2, 3].map((number) => orphan(number, NOW));
const TOO_MANY = "TooManyLiveKeys";
/** As `count` attempts leave it, `seconds` after the last one. */
const inVain = (count: number, seconds: number) => ({
  vainAttempts: { count, closedAt: at().monotonic - seconds * SECOND },
});

describe("a key is needed", () => {
  test.each([
    ["not while all is well", delivered(), undefined],
    ["for a new object", snapshot(), "NoKeyYet"],
    ["on request", delivered({ self: asked }), "RotationRequested"],
    [
      "not for a request that was answered",
      delivered({ self: asked, status: { lastHandledRotateAt: "now" } }),
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
      delivered({ status: { current: current(2), superseded: [superseded(1)] } }),
      "SecretEdited",
    ],
    [
      "where a forgotten key was put back",
      delivered({ status: { current: current(2) } }),
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
        status: { current: current(1, { issueTime: NOW - 90 * DAY, expirationTime: NOW }) },
      }),
      "KeyExpired",
    ],
    [
      "when it is due",
      delivered({
        status: {
          current: current(1, { issueTime: NOW - 61 * DAY, expirationTime: NOW + 29 * DAY }),
        },
      }),
      "RotationDue",
    ],
    [
      "where a requested rotation was interrupted",
      delivered({ status: { rotationPending: true } }),
      "RotationInterrupted",
    ],
  ])("%s", (_, world, reason) => {
    expect(firstFinding(needs, world, at(), timing)?.reason).toBe(reason);
  });
});

describe("a key may not be issued", () => {
  test.each([
    ["unless something forbids it", snapshot(), undefined],
    [
      "without an account",
      snapshot({
        account: {
          kind: "Waiting",
          state: "Reconciling",
          reason: "ServiceAccountNotFound",
          message: "",
        },
      }),
      "ServiceAccountNotFound",
    ],
    ["into a foreign Secret", snapshot({ target: foreign() }), "SecretConflict"],
    [
      "into one that must not be adopted",
      snapshot({ target: foreign(false), spec: keySpec({ secret: { onExisting: "Adopt" } }) }),
      "SecretConflict",
    ],
    [
      "but into one that may",
      snapshot({ target: foreign(), spec: keySpec({ secret: { onExisting: "Adopt" } }) }),
      undefined,
    ],
    ["past a foreign staging Secret", snapshot({ staging: foreign() }), "SecretConflict"],
    [
      "for longer than granted",
      snapshot({ account: { ...account, maxExpiresInDays: 89 } }),
      "LifetimeNotGranted",
    ],
    [
      "with metadata of another controller",
      snapshot({ reservedMetadata: ["argocd.argoproj.io/secret-type"] }),
      "MetadataNotAllowed",
    ],
    [
      "but as a successor of a key in use",
      delivered({ reservedMetadata: ["argocd.argoproj.io/secret-type"] }),
      undefined,
    ],
    ["over the budget of a day", snapshot({ status: used(4, DAY - 1) }), "BudgetExceeded"],
    ["but on the next day", snapshot({ status: used(4, DAY) }), undefined],
    ["but with budget left", snapshot({ status: used(3) }), undefined],
    ["but on request", snapshot({ status: used(4), self: asked }), undefined],
    ["soon after two attempts in vain", snapshot(inVain(2, 19)), "IssuanceFailing"],
    ["but twenty seconds after them", snapshot(inVain(2, 20)), undefined],
    ["but after one", snapshot(inVain(1, 0)), undefined],
    ["within five minutes of many", snapshot(inVain(9, 299)), "IssuanceFailing"],
    ["but five minutes after many", snapshot(inVain(9, 300)), undefined],
    ["but on request, after many", snapshot({ ...inVain(9, 0), self: asked }), undefined],
    ["while too many are alive", delivered({ status: { superseded: alive } }), "TooManyLiveKeys"],
    ["but while one less is", delivered({ status: { superseded: alive.slice(1) } }), undefined],
    [
      "but while some are disabled",
      delivered({
        status: { superseded: alive.map((key) => ({ ...key, state: "Disabled" as const })) },
      }),
      undefined,
    ],
    [
      "but on request, however many are alive",
      delivered({ status: { superseded: alive }, self: asked }),
      undefined,
    ],
    [
      "but shortly before the end",
      delivered({
        status: {
          superseded: alive,
          current: current(1, { issueTime: NOW - 89 * DAY, expirationTime: NOW + DAY }),
        },
      }),
      undefined,
    ],
    [
      "but without a key, however many are orphaned",
      snapshot({ status: { orphaned: lost() } }),
      undefined,
    ],
    [
      "but with a Secret that is gone, however many are alive",
      delivered({ status: { superseded: alive }, target: { kind: "Absent" } }),
      undefined,
    ],
    [
      "but with a key that the console refuses, however many are alive",
      delivered({
        status: { superseded: alive },
        rejection: { keyId: "sak_1", since: at().monotonic },
      }),
      undefined,
    ],
    [
      "but with an expired key, however many are alive",
      delivered({
        status: {
          superseded: alive,
          current: current(1, { issueTime: NOW - 90 * DAY, expirationTime: NOW }),
        },
      }),
      undefined,
    ],
    [
      "while two attempts have led to a key",
      delivered({ status: { orphaned: lost().slice(1) } }),
      TOO_MANY,
    ],
    [
      "but while one attempt found several keys: others issued them",
      delivered({ status: { orphaned: lost().map((key) => ({ ...key, attemptId: "one" })) } }),
      undefined,
    ],
    [
      "but while an orphaned key has expired",
      delivered({
        status: { orphaned: [orphan(2, NOW), { ...orphan(1, NOW), expirationTime: NOW }] },
      }),
      undefined,
    ],
    [
      "while the status has no room for another key, even on request",
      delivered({
        self: asked,
        status: { orphaned: Array.from({ length: 900 }, (_, index) => orphan(index, NOW)) },
      }),
      "TooManyListedKeys",
    ],
    [
      "of a namespace that has had all its grant allows, also where a person asks",
      snapshot({
        account: { ...account, namespaceIssues: { most: 2, count: 2 } },
        self: { ...snapshot({}).self, rotateToken: "now" },
      }),
      "NamespaceBudgetExceeded",
    ],
    ["while a peer is issuing", snapshot({ unsettledPeer: "other" }), "WaitingForPeer"],
  ])("%s", (_, world, reason) => {
    expect(firstFinding(blocks, world, at(), why)?.reason).toBe(reason);
  });

  test("a block says what to do and until when", () => {
    expect(firstFinding(blocks, snapshot({ status: used(4) }), at(), why)).toEqual({
      kind: "Waiting",
      condition: "IssuanceAllowed",
      reason: "BudgetExceeded",
      message:
        "Because. But the keys issued since 2026-01-10T00:00:00Z have reached the limit of maxIssuesPerDay (4); the next key can follow at 2026-01-11T00:00:00Z, or when you set the annotation iam-operator.io/rotate-requested-at.",
      state: "Reconciling",
      afterMs: DAY,
    });
    expect(firstFinding(blocks, snapshot({ target: foreign() }), at(), why)?.message).toBe(
      "Secret ci exists and is not this ApiKey's: it lacks the label iam-operator.io/api-key: ci. Create this ApiKey again with another spec.secret.name; or let the operator overwrite the Secret: kubectl label secret -n team-a ci iam-operator.io/api-key=ci, and set spec.secret.onExisting: Adopt.",
    );
  });
});

test("attempts in vain are counted in a row while they are less than an hour apart", () => {
  const first = nextVainAttempt(undefined, 0);
  const second = nextVainAttempt(first, HOUR - 1);
  expect([first.count, second.count, nextVainAttempt(second, 3 * HOUR).count]).toEqual([1, 2, 1]);
});
