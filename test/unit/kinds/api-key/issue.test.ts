/** Why a key is needed, and what forbids to issue it. */
import { expect, test } from "vitest";
import { blocks, nextAttemptWithoutKey } from "../../../../src/kinds/api-key/rules/blocks.ts";
import { reasonToIssue } from "../../../../src/kinds/api-key/rules/issue.ts";
import { isRequested, needs } from "../../../../src/kinds/api-key/rules/needs.ts";
import { safetyLimit } from "../../../../src/kinds/api-key/rules/schedule.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import { firstFinding } from "../../../../src/reconciler/rules/outcome.ts";
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
  ofBot,
  openAttempt,
  owner,
  pair,
  rowsOf,
  snapshot,
  superseded,
  timing,
} from "./builders.ts";

const requested = { self: { ...owner, deletingSince: undefined, rotateToken: "now" } };
const absent = { target: { kind: "Absent" } } as const;
const torn = { target: { ...holding(pair(1)), pair: undefined } as never };
const rejectedFor = (ms: number) => ({
  rejection: { keyId: "sak_1", since: at().monotonic - ms },
});
/** Of key 1, that many days before it expires. */
const daysLeft = (days: number) => ({
  current: current(1, { issueTime: NOW - (90 - days) * DAY, expirationTime: NOW + days * DAY }),
});
const issues = (count: number, agoMs = 0, requested?: true) =>
  Array.from({ length: count }, () => ({ time: NOW - agoMs, requested }));
const issued = (count: number, agoMs = 0) => ({ status: { recentIssues: issues(count, agoMs) } });
const orphan = (number: number, changes: object = {}) => ({
  keyId: `sak_${number}`,
  attemptId: `attempt-${number}`,
  observedTime: NOW,
  expirationTime: NOW + 90 * DAY,
  late: undefined,
  ...ofBot,
  ...changes,
});
const orphans = (count: number, changes: object = {}) =>
  Array.from({ length: count }, (_, index) => orphan(index + 1, changes));
/** Lost since the key in use was issued, `agoMs` ago. */
const lost = (count: number, agoMs = 0) => ({
  current: current(1, { issueTime: NOW - 2 * DAY, expirationTime: NOW + 88 * DAY }),
  orphaned: orphans(count, { observedTime: NOW - agoMs }),
});
/** As `count` attempts leave it, `seconds` after the last one. */
const inVain = (count: number, seconds: number) => ({
  attemptsWithoutKey: { count, closedAt: at().monotonic - seconds * SECOND },
});
const waiting = { kind: "Waiting", state: "Reconciling", reason: "NotFound", message: "" } as const;
const adopting = keySpec({ secret: { onExisting: "Adopt" } });
const offered = foreign(true, true);
const immutable = {
  ...offered,
  secret: { ...("secret" in offered ? offered.secret : {}), immutable: true },
} as ApiKeySnapshot["target"];
const reserved = { reservedMetadata: ["argocd.argoproj.io/secret-type"] };
const usage = { most: 2, count: 2, freeAt: NOW + HOUR };
const limited = { account: { ...account, namespaceIssues: usage } };
const claimed = (secretName = "ci") => ({ otherClaim: { apiKey: "other", secretName } });
const unread = { kind: "Unread", keyId: "sak_1", previousKeyId: undefined } as const;
const why = { reason: "RotationDue", message: "Because." };

test.each(
  rowsOf<ApiKeySnapshot>({
    none: {
      "all is well": delivered(),
      "a request that was answered": delivered({
        ...requested,
        status: { lastHandledRotateAt: "now" },
      }),
      "it was handled before the last one": delivered({
        ...requested,
        status: { lastHandledRotateAt: "then", earlierRotateRequests: ["before", "now"] },
      }),
      "it was refused just now": delivered(rejectedFor(MINUTE)),
    },
    NoKeyYet: {
      "a new object": snapshot(),
      "a Secret without a pair and a status without a key": snapshot(torn),
    },
    RotationRequested: { "a request": delivered(requested) },
    RotationInterrupted: { "an old request": delivered({ status: { rotationPending: true } }) },
    RotationDue: { "it is time": delivered({ status: daysLeft(29) }) },
    KeyExpired: { "it has expired": delivered({ status: daysLeft(0) }) },
    KeyRefused: { "the console has refused it for long": delivered(rejectedFor(2 * MINUTE)) },
    SecretMissing: { "the Secret is gone": delivered(absent) },
    SecretReplaced: { "the Secret is another's": delivered({ target: foreign() }) },
    SecretEdited: {
      "an edit broke the pair": delivered(torn),
      "a superseded key was put back": delivered({
        status: { current: current(2), superseded: [superseded(1)] },
      }),
      "a forgotten key was put back": delivered({ status: { current: current(2) } }),
    },
  }),
)("what makes a key necessary: %s, if %s", (reason, _, world) => {
  expect(firstFinding(needs, world, at(), timing)?.reason ?? "none").toBe(reason);
});

test.each(
  rowsOf<ApiKeySnapshot>({
    none: {
      "nothing forbids it": snapshot(),
      "a Secret that may be adopted": snapshot({ target: foreign(true, true), spec: adopting }),
      "reserved metadata of a key in use": delivered(reserved),
      "the day after the budget was used": snapshot(issued(4, DAY)),
      "one key of the last 24 hours less than the budget": snapshot({
        status: { recentIssues: [...issues(3, DAY - 1), ...issues(1, DAY)] },
      }),
      "requested rotations, however many": snapshot({
        status: { recentIssues: [...issues(9, 0, true), ...issues(3)] },
      }),
      "late keys, however many": delivered({
        status: { ...lost(0), orphaned: orphans(9, { late: true }) },
      }),
      "some budget is left": snapshot(issued(3)),
      "a request over the budget": snapshot({ ...issued(4), ...requested }),
      "twenty seconds after two attempts in vain": snapshot(inVain(2, 20)),
      "one attempt in vain": snapshot(inVain(1, 0)),
      "five minutes after many attempts in vain": snapshot(inVain(9, 300)),
      "a request after many attempts in vain": snapshot({ ...inVain(9, 0), ...requested }),
      "one lost key": delivered({ status: lost(1) }),
      "a day after the last lost key": delivered({ status: lost(2, DAY) }),
      "a request after lost keys": delivered({ status: lost(2), ...requested }),
      "the end is near": delivered({ status: { ...lost(2), ...daysLeft(1) } }),
      "no key and lost keys": snapshot({ status: { orphaned: orphans(3) } }),
      "lost keys and no Secret": delivered({ status: lost(2), ...absent }),
      "lost keys and a refused one": delivered({ status: lost(2), ...rejectedFor(0) }),
      "lost keys and an expired one": delivered({ status: { ...lost(2), ...daysLeft(0) } }),
      "one attempt found several keys: others issued them": delivered({
        status: { ...lost(0), orphaned: orphans(3, { attemptId: "one" }) },
      }),
      "keys that were lost before the key in use": delivered({
        status: { current: current(1, { issueTime: NOW }), orphaned: orphans(9) },
      }),
      "lost keys of another account": delivered({
        status: { ...lost(0), orphaned: orphans(2, { saId: "sa-2" }) },
      }),
      "a claim on the Secret that it has": delivered(claimed()),
      "a claim on the Secret that it had when it could be read": delivered({
        ...claimed(),
        target: unread,
      }),
      "missing policies of the account that the key in use belongs to": delivered({
        missingPermissions: "no policy is bound to it",
      }),
      "superseded keys, however many": delivered({
        status: { superseded: Array.from({ length: 9 }, (_, index) => superseded(index + 2)) },
      }),
    },
    NotFound: { "no account": snapshot({ account: waiting }) },
    SecretConflict: {
      "a claim on a Secret that is not there": snapshot({ ...claimed(), ...absent }),
      "a claim on the Secret that a new key needs": delivered(claimed("ci-next")),
      "a foreign Secret": snapshot({ target: foreign() }),
      "a Secret that cannot be adopted": snapshot({ target: foreign(false, true), spec: adopting }),
      "a Secret without its owner's consent": snapshot({ target: foreign(), spec: adopting }),
      "a Secret with consent that nobody asked for": snapshot({ target: foreign(true, true) }),
      "a foreign pending Secret": snapshot({ pending: foreign() }),
    },
    SecretImmutable: {
      "an immutable Secret that is to be adopted": snapshot({ target: immutable, spec: adopting }),
    },
    LifetimeNotGranted: {
      "longer than granted": snapshot({ account: { ...account, maxExpiresInDays: 89 } }),
    },
    MetadataNotAllowed: { "metadata of another controller": snapshot(reserved) },
    BudgetExceeded: {
      "no budget is left": snapshot(issued(4, DAY - 1)),
      "as many within 24 hours, in any order": snapshot({
        status: { recentIssues: [...issues(1, DAY), ...issues(3, DAY - 1), ...issues(1)] },
      }),
    },
    IssuanceFailing: {
      "soon after two attempts in vain": snapshot(inVain(2, 19)),
      "soon after many attempts in vain": snapshot(inVain(9, 299)),
    },
    TooManyOrphanedKeys: {
      "two attempts have lost their keys": delivered({ status: lost(2) }),
      "less than a day after the last lost key": delivered({ status: lost(3, DAY - 1) }),
    },
    TooManyListedKeys: {
      "a request without room in the status": delivered({
        ...requested,
        status: { orphaned: orphans(900) },
      }),
      "no room for another superseded key": delivered({
        ...requested,
        status: { superseded: Array.from({ length: 900 }, (_, index) => superseded(index + 2)) },
      }),
    },
    NamespaceBudgetExceeded: { "a request over the grant": snapshot({ ...limited, ...requested }) },
  }),
)("what forbids to issue a key: %s, if %s", (reason, _, world) => {
  expect(firstFinding(blocks, world, at(), why)?.reason ?? "none").toBe(reason);
});

test("a block says what to do and until when", () => {
  expect(firstFinding(blocks, snapshot(issued(4)), at(), why)).toEqual({
    kind: "Waiting",
    condition: "IssuanceAllowed",
    reason: "BudgetExceeded",
    message:
      "Because. But the keys issued since 2026-01-10T00:00:00Z have reached the limit of maxIssuesPerDay (4); the next key can follow at 2026-01-11T00:00:00Z, or when you set the annotation iam-operator.io/rotate-requested-at.",
    state: "Reconciling",
    afterMs: DAY,
  });
});

test.each([
  ["to be created again if it has no key", snapshot, "Create this ApiKey again."],
  ["to be kept until the workloads have moved", delivered, "then delete this ApiKey."],
])("an ApiKey whose status is full is %s", (_, of, advice) => {
  const full = of({ status: { orphaned: orphans(900) } });
  const { message = "" } = firstFinding(blocks, full, at(), why) ?? {};
  expect(message.slice(-advice.length)).toBe(advice);
});

test("after lost keys, the next key comes a day later, or when the key in use expires soon", () => {
  const until = (world: ApiKeySnapshot) => firstFinding(blocks, world, at(), why)?.afterMs;
  expect(until(delivered({ status: lost(2, HOUR) }))).toBe(DAY - HOUR);
  const near = { ...lost(2), ...daysLeft(9.5) };
  expect(until(delivered({ status: near }))).toBe(DAY / 2);
});

const LABEL = "kubectl label secret -n team-a ci iam-operator.io/api-key=ci";
const ADOPT = "set spec.secret.onExisting: Adopt";
test.each([
  ["both steps", snapshot({ target: foreign() }), `${LABEL}, and ${ADOPT}`],
  ["the label, if the ApiKey asks for it", snapshot({ target: foreign(), spec: adopting }), LABEL],
  ["the field, if the Secret is labelled", snapshot({ target: foreign(true, true) }), ADOPT],
])("a Secret in the way can be adopted: the message asks for %s", (_, world, steps) => {
  expect(firstFinding(blocks, world, at(), why)?.message).toBe(
    `Secret ci exists and is not this ApiKey's: it lacks the label iam-operator.io/api-key: ci. Create this ApiKey again with another spec.secret.name; or let the operator overwrite the Secret: ${steps}.`,
  );
});

test.each([
  [
    "holds another ApiKey's key",
    { ...foreign(), holder: "other" },
    "It can hold the only copy of a key of ApiKey other. Create this ApiKey again with another spec.secret.name. Only if ApiKey other is Ready with a Secret of another name, Secret ci is a copy: then you can delete that Secret instead, and the operator writes it as soon as it can issue a key.",
  ],
  [
    "cannot be adopted",
    foreign(false),
    "Create this ApiKey again with another spec.secret.name; or, if nothing uses Secret ci, delete that.",
  ],
])("a Secret in the way %s: the message advises nothing else", (_, target, advice) => {
  const message = firstFinding(blocks, snapshot({ target }), at(), why)?.message ?? "";
  expect(message.slice(message.indexOf(": ci. ") + ": ci. ".length)).toBe(advice);
});

test.each([
  ["at its end", MINUTE, MINUTE],
  ["every hour, as the grant can change", DAY, HOUR],
])("the limit of a namespace is judged again %s", (_, leftMs, afterMs) => {
  const namespaceIssues = { ...usage, freeAt: NOW + leftMs };
  const world = snapshot({ account: { ...account, namespaceIssues } });
  expect(firstFinding(blocks, world, at(), why)?.afterMs).toBe(afterMs);
});

test("lost keys hold up no key in the last tenth, though a server contradicts that", () => {
  const world = delivered({ status: lost(2) });
  const limit = safetyLimit(lost(0).current);
  const reasonAt = (now: number) =>
    firstFinding(blocks, world, { ...at(), now, earliest: NOW }, why)?.reason;
  expect([reasonAt(limit - 1), reasonAt(limit)]).toEqual(["TooManyOrphanedKeys", undefined]);
});

test("attempts in vain are counted in a row while they are less than an hour apart", () => {
  const first = nextAttemptWithoutKey(undefined, 0);
  const second = nextAttemptWithoutKey(first, HOUR - 1);
  expect([first.count, second.count, nextAttemptWithoutKey(second, 3 * HOUR).count]).toEqual([
    1, 2, 1,
  ]);
});

test("no key is issued over an open attempt, the only trace of its key (S6)", () => {
  expect(reasonToIssue(snapshot(), at(), timing)?.reason).toBe("NoKeyYet");
  const open = snapshot({ status: { attempt: openAttempt(1) } });
  expect(reasonToIssue(open, at(), timing)).toBeUndefined();
});

test("an attempt that repeats an interrupted rotation is a requested one", () => {
  const reasons = ["RotationRequested", "RotationInterrupted", "RotationDue", undefined];
  expect(reasons.map(isRequested)).toEqual([true, true, false, false]);
});
