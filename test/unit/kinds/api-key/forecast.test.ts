/** IssuanceAllowed: what a run says about the next key. */

import { expect, test } from "vitest";
import { issuanceAllowed } from "../../../../src/kinds/api-key/rules/forecast.ts";
import { rehearsed } from "../../../../src/kinds/api-key/rules/rehearsal.ts";
import type { ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import type { CurrentKey } from "../../../../src/kinds/api-key/rules/status.ts";
import type { SecretView } from "../../../../src/kinds/api-key/secret/view.ts";
import { defaultTiming } from "../../../../src/kinds/api-key/timing.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import type { Outcome } from "../../../../src/reconciler/rules/outcome.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
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
  object,
  ofBot,
  owner,
  pair,
  snapshot,
} from "./builders.ts";

const rest = { kind: "Settled" } as const;
const failed = {
  kind: "Failed",
  error: new Error("no"),
  readiness: reconciling("Unavailable", "The console is down."),
} as const;
const readable = holding(pair(1));
const immutable = {
  ...readable,
  secret: { ...("secret" in readable ? readable.secret : {}), immutable: true },
} as SecretView;
const unread: SecretView = { kind: "Unread", keyId: "sak_1", previousKeyId: undefined };
const saying = (reason: string) => {
  const status = { conditions: [{ type: "IssuanceAllowed", status: "False", reason }] };
  return { object: { ...object(), status } as unknown as ApiKeySnapshot["object"] };
};
const stop = { reason: "SecretRejected", message: "It is so." };
const refused = { from: 0, generation: 1, stop };
const denied = { refusal: new KubeError("Invalid", "field is immutable") };
const unknown = { from: 0, generation: undefined, stop: undefined };
const limited = (freeAt: number) => ({
  account: { ...account, namespaceIssues: { most: 1, count: 1, freeAt } },
});
const waitingFor = (reason: string) => ({ account: reconciling(reason, "It is so.") });

/** Two keys were issued today, and the key in use is renewed in an hour. */
const usedUp = (issuedAgo: number, changes: { requested?: true } = {}) =>
  delivered({
    spec: keySpec({ expiresInDays: 1, maxIssuesPerDay: 2, rotation: { renewBefore: "22h" } }),
    status: {
      current: current(1, { issueTime: NOW - MINUTE, expirationTime: NOW - MINUTE + DAY }),
      recentIssues: [MINUTE, issuedAgo].map((ago) => ({
        time: NOW - ago,
        requested: changes.requested,
      })),
    },
  });
const lostKey = (attemptId: string) => ({
  keyId: `sak_${attemptId}`,
  attemptId,
  observedTime: NOW - SECOND,
  expirationTime: NOW + DAY,
  late: undefined,
  ...ofBot,
});
const lostKeys = { status: { ...usedUp(DAY).status, orphaned: ["a1", "a2"].map(lostKey) } };

const renewedIn = (schedule: string, life: Partial<CurrentKey> = {}) =>
  delivered({
    spec: keySpec({ rotation: { windows: [{ schedule, duration: "3h" }] } }),
    status: { current: current(1, life) },
  });

/** Overdue since before those issues. */
const overdue = delivered({
  spec: keySpec({ maxIssuesPerDay: 2 }),
  status: {
    current: current(1, { issueTime: NOW - 80 * DAY, expirationTime: NOW + 10 * DAY }),
    recentIssues: usedUp(HOUR).status.recentIssues,
  },
});

type Situation = readonly [string, ApiKeySnapshot, Outcome, string];

const cases: readonly Situation[] = [
  ["a key at rest", delivered(), rest, "True Allowed"],
  ["no key yet", snapshot(), rest, "True Allowed"],
  ["a limit that ends with time", delivered(limited(NOW + HOUR)), rest, "True Allowed"],
  [
    "a limit of the namespace that ends before the renewal",
    { ...usedUp(DAY), ...limited(NOW + 10 * MINUTE) },
    rest,
    "True Allowed",
  ],
  [
    "a limit of the namespace that lasts beyond the renewal",
    { ...usedUp(DAY), ...limited(NOW + 3 * HOUR) },
    rest,
    "False NamespaceBudgetExceeded",
  ],
  [
    "a grant that permits no key at all",
    delivered(limited(Number.POSITIVE_INFINITY)),
    rest,
    "False NamespaceBudgetExceeded",
  ],
  ["a daily limit that lasts beyond the renewal", usedUp(HOUR), rest, "False BudgetExceeded"],
  ["a daily limit that ends before the renewal", usedUp(DAY - MINUTE), rest, "True Allowed"],
  ["requested issues", usedUp(HOUR, { requested: true }), rest, "True Allowed"],
  [
    "lost keys that stop the renewal",
    { ...usedUp(DAY), ...lostKeys },
    rest,
    "False TooManyOrphanedKeys",
  ],
  [
    "a daily limit, and a rehearsal that was refused",
    { ...usedUp(HOUR), rehearsal: refused },
    rest,
    "False SecretRejected",
  ],
  ["an immutable Secret", delivered({ target: immutable }), rest, "False SecretImmutable"],
  [
    "a grant that forbids the lifetime",
    delivered({ account: { ...account, maxExpiresInDays: 9 } }),
    rest,
    "False LifetimeNotGranted",
  ],
  [
    "no account",
    delivered(waitingFor("ServiceAccountNotFound")),
    rest,
    "False ServiceAccountNotFound",
  ],
  [
    "a wait for something else",
    delivered(),
    { ...reconciling("Pending", "It is so."), condition: "Ready" },
    "True Allowed",
  ],
  ["a daily limit at the time of a renewal that is overdue", overdue, rest, "True Allowed"],
  ["a suspended object", delivered(), { kind: "Suspended" }, "False Suspended"],
  ["an object that is only planned for", delivered({ isPlanned: true }), rest, "False PlanOnly"],
  [
    "an object that is only planned for, whose account is not ready",
    delivered({ isPlanned: true }),
    { ...reconciling("Pending", "It is so."), condition: "IssuanceAllowed" },
    "False PlanOnly",
  ],
  [
    "a connection that is not known yet",
    delivered(waitingFor("ConnectionNotReady")),
    rest,
    "as before",
  ],
  [
    "a connection whose login is refused",
    delivered({ account: stalled("ConnectionNotReady", "It is so.") }),
    rest,
    "False ConnectionNotReady",
  ],
  ["a failed run", delivered(), failed, "as before"],
  [
    "a failed run of a suspended object",
    { ...delivered(saying("Suspended")), spec: { ...delivered().spec, suspend: true } },
    failed,
    "as before",
  ],
  [
    "a failed run that has read the Secret of another owner",
    delivered({ target: foreign() }),
    failed,
    "False SecretConflict",
  ],
  [
    "an outage, with the Secret of another owner",
    delivered({ ...waitingFor("ConnectionNotReady"), target: foreign() }),
    rest,
    "False SecretConflict",
  ],
  ...["Suspended", "PlanOnly", "InvalidSpec", "SecretImmutable", "SecretConflict"].map(
    (reason): Situation => [
      `an outage in which ${reason} ended`,
      delivered({ ...waitingFor("ConnectionNotReady"), ...saying(reason) }),
      rest,
      "True Allowed",
    ],
  ),
  ...["LifetimeNotGranted", "SecretRejected", "BudgetExceeded"].map(
    (reason): Situation => [
      `an outage, and ${reason}, which may have ended`,
      delivered({ ...waitingFor("ConnectionNotReady"), ...saying(reason) }),
      rest,
      "as before",
    ],
  ),
  [
    "a failed run that has read that the Secret is no longer immutable",
    delivered({ rehearsal: { ...refused, stop: { ...stop, reason: "SecretImmutable" } } }),
    failed,
    "as before",
  ],
  [
    "that, and the condition says it",
    delivered({
      rehearsal: { ...refused, stop: { ...stop, reason: "SecretImmutable" } },
      ...saying("SecretImmutable"),
    }),
    failed,
    "True Allowed",
  ],
  [
    "a failed run whose new pair the API server refuses to store",
    delivered({ held: { attemptId: "a1", pair: pair(2) } }),
    { ...failed, error: new KubeError("Forbidden", "a policy denies it") },
    "False SecretRejected",
  ],
  [
    "a failed run whose new pair is not stored yet",
    delivered({ held: { attemptId: "a1", pair: pair(2) } }),
    failed,
    "as before",
  ],
  [
    "a failed run that has read an immutable Secret",
    delivered({ target: immutable }),
    failed,
    "False SecretImmutable",
  ],
  [
    "a rejection of the key while a daily limit lasts",
    { ...usedUp(DAY - 10 * MINUTE), rejection: { keyId: "sak_1", since: at().monotonic } },
    rest,
    "False BudgetExceeded",
  ],
  [
    "a rejection of the key when a daily limit is about to end",
    { ...usedUp(DAY - MINUTE), rejection: { keyId: "sak_1", since: at().monotonic } },
    rest,
    "True Allowed",
  ],
  ["a rehearsal that was refused", delivered({ rehearsal: refused }), rest, "False SecretRejected"],
  ["that, and a failed run", delivered({ rehearsal: refused }), failed, "False SecretRejected"],
  ...["SecretRejected", "SecretNotKept", "SecretConflict"].map(
    (reason): Situation => [
      `${reason} before this process started`,
      delivered({ rehearsal: unknown, pending: { kind: "Unlisted" }, ...saying(reason) }),
      rest,
      "as before",
    ],
  ),
  [
    "a rehearsal that has ended a refusal",
    delivered({ rehearsal: { ...refused, stop: undefined }, ...saying("SecretRejected") }),
    rest,
    "True Allowed",
  ],
  [
    "the claim of another ApiKey on the pending Secret",
    delivered({ otherClaim: { apiKey: "other", secretName: "ci-next" } }),
    rest,
    "False SecretConflict",
  ],
  [
    "a claim on a Secret that is its own",
    delivered({ otherClaim: { apiKey: "other", secretName: "ci" } }),
    rest,
    "True Allowed",
  ],
  [
    "an immutable Secret that was not read again",
    delivered({ target: unread, ...saying("SecretImmutable") }),
    rest,
    "as before",
  ],
  [
    "a rehearsal that has read an immutable Secret",
    delivered({
      target: unread,
      rehearsal: rehearsed(delivered({ target: immutable }), denied, 0),
    }),
    rest,
    "False SecretImmutable",
  ],
  [
    "an unread Secret that was not immutable",
    delivered({ target: unread, ...saying("Suspended") }),
    rest,
    "True Allowed",
  ],
  ["a renewal in a window", renewedIn("0 2 * * *"), rest, "True Allowed"],
  ["a renewal before the next window", renewedIn("0 2 1 7 *"), rest, "True OutsideWindows"],
  [
    "a renewal before the next window that is overdue",
    renewedIn("0 2 1 7 *", { issueTime: NOW - 89 * DAY, expirationTime: NOW + DAY }),
    rest,
    "True Allowed",
  ],
  [
    "a deletion",
    delivered({ self: { ...owner, deletingSince: NOW, rotateToken: undefined } }),
    rest,
    "absent",
  ],
];

test.each(
  cases.map(([what, given, outcome, expected]) => [what, expected, given, outcome] as const),
)("after %s, the forecast is %s", (_, expected, given, outcome) => {
  const found = issuanceAllowed(given, outcome, at(), defaultTiming);
  const said =
    found === undefined
      ? "as before"
      : found.status === undefined
        ? "absent"
        : `${found.status} ${found.reason}`;
  expect(said).toBe(expected);
});

const due = { current: current(1, { issueTime: NOW - 80 * DAY, expirationTime: NOW + 10 * DAY }) };
const requested = { self: { ...owner, deletingSince: undefined, rotateToken: "now" } };
const waits = {
  ...reconciling("PermissionsMissing", "Consumers get no key."),
  condition: "IssuanceAllowed",
};

test("a renewal that cannot wait for the next window is announced", () => {
  expect(issuanceAllowed(renewedIn("0 2 1 7 *"), rest, at(), defaultTiming)).toMatchObject({
    message:
      "The key is renewed at 2026-03-31T00:00:00Z, outside the windows: the next window opens at 2026-07-01T02:00:00Z, too close to the expiry.",
  });
});

test.each<[string, ApiKeySnapshot, Outcome, string]>([
  ["a due renewal", delivered({ status: due, rehearsal: refused }), failed, "Rotation was due at "],
  [
    "a requested rotation",
    delivered({ ...requested, rehearsal: refused }),
    failed,
    "A rotation was requested by annotation. The next key waits: It is so.",
  ],
  [
    "a rotation that was interrupted",
    delivered({ status: { rotationPending: true }, rehearsal: refused }),
    failed,
    "A requested rotation was interrupted. The next key waits: It is so.",
  ],
  [
    "a requested rotation without permissions",
    delivered(requested),
    waits,
    "A rotation was requested by annotation. The next key waits: Consumers get no key.",
  ],
  [
    "a requested rotation once, if the wait names it",
    delivered(requested),
    { ...waits, message: "A rotation was requested by annotation. Tomorrow." },
    "A rotation was requested by annotation. Tomorrow.$",
  ],
  [
    "no rotation of a first key",
    snapshot({ ...requested, rehearsal: refused }),
    rest,
    "It is so.$",
  ],
  ["no need of a key", delivered({ rehearsal: refused }), rest, "It is so."],
  ["a first key", snapshot({ rehearsal: refused }), rest, "It is so."],
])("the forecast names %s that waits", (_, given, outcome, expected) => {
  const found = issuanceAllowed(given, outcome, at(), defaultTiming);
  expect(found).toMatchObject({ message: expect.stringMatching(`^${expected}`) });
});
