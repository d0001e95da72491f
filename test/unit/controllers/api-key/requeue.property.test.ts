import fc from "fast-check";
import { test } from "vitest";
import type { ApiKeySpec } from "../../../../src/api/api-key.ts";
import { annotations } from "../../../../src/api/meta.ts";
import { nextOfDeletion } from "../../../../src/controllers/api-key/rules/deletion.ts";
import { next } from "../../../../src/controllers/api-key/rules/next.ts";
import { report } from "../../../../src/controllers/api-key/rules/report.ts";
import type {
  ApiKeyKind,
  ApiKeySnapshot,
} from "../../../../src/controllers/api-key/rules/snapshot.ts";
import { apiKeySteps } from "../../../../src/controllers/api-key/steps/steps.ts";
import { reconciling, stalled } from "../../../../src/controllers/frame/rules/waiting.ts";
import { DAY, toIso8601 } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { ago, expectRequeued, maybe, type Rules, type Situation } from "../requeue.ts";
import * as keys from "./builders.ts";

const { NOW, timing } = keys;
const rules: Rules<ApiKeyKind> = {
  start: {},
  steps: apiKeySteps({} as never),
  next: (progress, at) => next(progress, at, timing),
  nextOfDeletion: (progress, at) => nextOfDeletion(progress, at, timing),
  report: (progress, outcome, at) => report(progress, outcome, at, timing),
};
const spec: fc.Arbitrary<ApiKeySpec> = fc
  .record({
    suspend: fc.constantFrom(false, false, false, true),
    expiresInDays: fc.constantFrom(1, 30, 90),
    maxIssuesPerDay: fc.constantFrom(1, 4),
    rotation: fc.constantFrom(
      {},
      { overlap: "1h", maxOverlapExtension: "5h" },
      { windows: [{ schedule: "0 3 * * *", duration: "1h" }] },
    ),
    secret: fc.constantFrom({}, { onExisting: "Adopt" }),
  })
  .map((changes) => keys.keySpec(changes));
const account = fc.oneof(
  fc.record({
    kind: fc.constant("Ready" as const),
    liveKeyIds: fc.constantFrom(undefined, [], ["sak_1"], ["sak_1", "sak_2"]),
    lastKeyListTime: maybe(ago.map((ms) => NOW - ms)),
    canDisableKeys: fc.boolean(),
    maxExpiresInDays: fc.constantFrom(45, 365),
    namespaceIssues: fc.constantFrom(undefined, { most: 1, count: 1 }),
  }),
  fc.constantFrom(reconciling("ServiceAccountNotReady", "wait"), stalled("NotGranted", "wait")),
);
const rejectionOf = (keyId: string) => maybe(ago.map((ms) => ({ keyId, since: 1_000_000 - ms })));
const current = fc
  .record({ age: ago, days: fc.constantFrom(1, 90), verified: maybe(ago) })
  .map(({ age, days, verified }) =>
    keys.current(1, {
      issueTime: NOW - age,
      expirationTime: NOW - age + days * DAY,
      verificationTime: verified === undefined ? undefined : NOW - verified,
    }),
  );
const situations = fc
  .record({
    spec,
    account,
    current: maybe(current),
    target: fc.constantFrom(
      "held",
      "held",
      "held",
      "unread",
      "absent",
      "unlisted",
      "foreign",
      "second",
    ),
    staging: fc.constantFrom("none", "none", "none", "second", "foreign"),
    attempt: maybe(ago.map((ms) => ({ ...keys.openAttempt(2), startTime: NOW - ms }))),
    recovery: maybe(
      fc.record({ since: ago, firstRead: maybe(ago) }).map(({ since, firstRead }) => ({
        attemptId: "a1",
        since: 1_000_000 - since,
        ...(firstRead === undefined
          ? {}
          : { firstRead: { at: 1_000_000 - firstRead, keyIds: [] } }),
      })),
    ),
    rejection: rejectionOf("sak_1"),
    pendingRejection: rejectionOf("sak_2"),
    lastCheckTime: maybe(ago.map((ms) => NOW - ms)),
    superseded: fc.array(
      ago.map((ms) => keys.superseded(3, { supersededTime: NOW - ms })),
      { maxLength: 3 },
    ),
    orphaned: fc.array(
      ago.map((ms) => ({
        keyId: "sak_9",
        attemptId: "a9",
        observedTime: NOW - ms,
        expirationTime: NOW - ms + 30 * DAY,
        late: undefined,
      })),
      { maxLength: 3 },
    ),
    issuances: maybe(fc.record({ windowStartTime: ago.map((ms) => NOW - ms), count: fc.nat(5) })),
    blocked: maybe(ago.map((ms) => NOW - ms)),
    deleting: maybe(ago),
    rotate: fc.constantFrom(undefined, undefined, "now"),
    reconcile: fc.constantFrom(undefined, undefined, "now"),
    peer: fc.constantFrom(undefined, undefined, "peer"),
    secretsAreWatched: fc.boolean(),
    done: fc.constantFrom(undefined, undefined, undefined, {
      isQueued: true,
      hasNotedStaged: true,
      verdicts: new Map([
        ["sak_1", false],
        ["sak_2", false],
      ]),
    }),
  })
  .map((drawn): Situation<ApiKeyKind> => {
    const first = keys.pair(1);
    const base = keys.snapshot();
    const targets: Record<string, ApiKeySnapshot["target"]> = {
      held: keys.holding(first, drawn.spec),
      second: keys.holding(keys.pair(2), drawn.spec),
      unread: { kind: "Unread", keyId: "sak_1", previousKeyId: undefined },
      absent: { kind: "Absent" },
      unlisted: { kind: "Unlisted" },
      foreign: keys.foreign(),
    };
    const stagings: Record<string, ApiKeySnapshot["staging"]> = {
      none: { kind: "Absent" },
      second: keys.staged(keys.pair(2)),
      foreign: keys.foreign(false),
    };
    const metadata = {
      ...base.object.metadata,
      annotations:
        drawn.reconcile === undefined
          ? {}
          : { [annotations.reconcileRequestedAt]: drawn.reconcile },
      ...(drawn.deleting === undefined
        ? {}
        : { deletionTimestamp: toIso8601(NOW - drawn.deleting) }),
    };
    const snapshot: ApiKeySnapshot = {
      ...base,
      object: blockedSince({ ...base.object, metadata }, drawn.blocked),
      self: {
        ...base.self,
        deletingSince: drawn.deleting === undefined ? undefined : NOW - drawn.deleting,
        rotateToken: drawn.rotate,
      },
      spec: drawn.spec,
      account:
        drawn.account.kind === "Ready" ? { ...keys.account, ...drawn.account } : drawn.account,
      target: targets[drawn.target] as ApiKeySnapshot["target"],
      staging: stagings[drawn.staging] as ApiKeySnapshot["staging"],
      recovery: drawn.recovery,
      rejection: drawn.rejection,
      pendingRejection: drawn.pendingRejection,
      lastCheckTime: drawn.lastCheckTime,
      unsettledPeer: drawn.peer,
      secretsAreWatched: drawn.secretsAreWatched,
      status: {
        ...keys.noKeys,
        current: drawn.current,
        attempt: drawn.attempt,
        superseded: drawn.superseded,
        orphaned: drawn.orphaned,
        issuances: drawn.issuances,
      },
    };
    return {
      snapshot,
      spec: drawn.spec,
      ...(drawn.done === undefined ? {} : { done: drawn.done }),
    };
  });

test("a run over an ApiKey names the time of the next one", () => {
  expectRequeued(rules, situations, NOW);
});
