import fc from "fast-check";
import type { ApiKeySpec } from "../../../../src/api/api-key.ts";
import { annotations } from "../../../../src/api/meta.ts";
import { deleteApiKey } from "../../../../src/kinds/api-key/deletion.ts";
import { apiKeyEffects } from "../../../../src/kinds/api-key/effects/effects.ts";
import { report } from "../../../../src/kinds/api-key/rules/report.ts";
import type { ApiKeyKind, ApiKeySnapshot } from "../../../../src/kinds/api-key/rules/snapshot.ts";
import type { CurrentKey } from "../../../../src/kinds/api-key/rules/status.ts";
import { reconcileApiKey } from "../../../../src/kinds/api-key/run.ts";
import { reconciling, stalled } from "../../../../src/reconciler/rules/waiting.ts";
import { DAY, HOUR, toIso8601 } from "../../../../src/util/time.ts";
import { blockedSince } from "../blocked-cleanup.ts";
import { ago, maybe, mostly, type Requeued, rarely, type Situation } from "../requeue.ts";
import * as keys from "./builders.ts";

const { NOW, timing } = keys;
const real = apiKeyEffects({} as never);
/** A run that has checked the keys goes on without effects that change no decision. */
const effects: typeof real = {
  ...real,
  *noteStaged(s) {
    return s.verdicts === undefined ? yield* real.noteStaged(s) : s;
  },
};
const rules: Requeued<ApiKeyKind>["rules"] = {
  run: (snapshot, readNow) => reconcileApiKey(snapshot, { effects, timing, readNow }),
  runOfDeletion: (snapshot, readNow) => deleteApiKey(snapshot, { effects, timing, readNow }),
  report: (snapshot, outcome, at) => report(snapshot, outcome, at, timing),
};
const spec: fc.Arbitrary<ApiKeySpec> = fc
  .record({
    suspend: mostly(false, true),
    expiresInDays: fc.constantFrom(1, 30, 90),
    maxIssuesPerDay: fc.constantFrom(2, 4),
    rotation: fc.constantFrom(
      {},
      { overlap: "1h", maxOverlapExtension: "5h" },
      { windows: [{ schedule: "0 3 * * *", duration: "1h" }] },
    ),
    secret: fc.constantFrom({}, { onExisting: "Adopt" }),
  })
  .map(({ maxIssuesPerDay, ...changes }) => {
    const least = changes.expiresInDays === 1 ? 2 : 1;
    return keys.keySpec({ ...changes, maxIssuesPerDay: Math.max(maxIssuesPerDay, least) });
  });
const readyAccount = fc.record({
  kind: fc.constant("Ready" as const),
  liveKeyIds: fc.constantFrom(undefined, [], ["sak_1"], ["sak_1", "sak_2"]),
  inactiveKeyIds: fc.constantFrom(undefined, ["sak_1"], ["sak_2"]),
  listsKeyStates: fc.boolean(),
  lastKeyListTime: maybe(ago.map((ms) => NOW - ms)),
  canDisableKeys: fc.boolean(),
  maxExpiresInDays: fc.constantFrom(45, 365),
  namespaceIssues: fc.constantFrom(undefined, { most: 1, count: 1, freeAt: NOW + HOUR }),
});
const account = fc.oneof(
  { weight: 5, arbitrary: readyAccount },
  fc.constantFrom(reconciling("ServiceAccountNotReady", "wait"), stalled("NotGranted", "wait")),
);
const before = ago.map((ms) => NOW - ms);
const recently = fc.nat(timing.deletionPatienceMs).map((ms) => NOW - ms);
const rejectionOf = (keyId: string) => rarely(ago.map((ms) => ({ keyId, since: 1_000_000 - ms })));
const current = fc
  .record({ age: ago, days: fc.constantFrom(1, 90), verificationTime: maybe(before) })
  .map(({ age, days, verificationTime }) => {
    const issueTime = NOW - age;
    const expirationTime = issueTime + days * DAY;
    return keys.current(1, { issueTime, expirationTime, verificationTime });
  });
const orphan = (observedTime: number) => ({
  keyId: "sak_9",
  attemptId: "a9",
  observedTime,
  expirationTime: observedTime + 30 * DAY,
  late: undefined,
  ...keys.ofBot,
});
const status = fc.record({
  current: maybe(current),
  attempt: rarely(
    fc
      .record({ startTime: before, settled: fc.constantFrom(undefined, true as const) })
      .map((changes) => ({ ...keys.openAttempt(2), ...changes })),
  ),
  superseded: fc.array(
    before.map((supersededTime) => keys.superseded(3, { supersededTime })),
    { maxLength: 3 },
  ),
  orphaned: fc.array(before.map(orphan), { maxLength: 3 }),
  recentIssues: fc.array(
    before.map((time) => ({ time, requested: undefined })),
    { maxLength: 5 },
  ),
});
const explained = (keyIds: readonly string[] | undefined) => ({
  id: "a1",
  keyIds: keyIds && [...keyIds],
});
const recovery = ago.map((since) => ({ attemptId: "a1", since: 1_000_000 - since }));
type Target = (spec: ApiKeySpec, current: CurrentKey | undefined) => ApiKeySnapshot["target"];
const targets: Readonly<Record<string, Target>> = {
  held: (spec, current) => keys.holding({ ...keys.pair(1), ...current }, spec),
  second: (spec) => keys.holding(keys.pair(2), spec),
  unread: () => ({ kind: "Unread", keyId: "sak_1", previousKeyId: undefined }),
  absent: () => ({ kind: "Absent" }),
  unlisted: () => ({ kind: "Unlisted" }),
  foreign: () => keys.foreign(),
  offered: () => keys.foreign(true, true),
};
const absent = { kind: "Absent" } as const;
const rejected = new Map([
  ...keys.checked("sak_1", "Rejected"),
  ...keys.checked("sak_2", "Rejected"),
]);
const situations = fc
  .record({
    spec,
    account,
    status,
    target: mostly("held", ...Object.keys(targets)),
    pending: mostly<ApiKeySnapshot["pending"]>(
      absent,
      keys.staged(keys.pair(2)),
      keys.foreign(false),
    ),
    recovery: maybe(recovery),
    rejection: rejectionOf("sak_1"),
    pendingRejection: rejectionOf("sak_2"),
    lastCheckTime: maybe(before),
    explanation: mostly<ApiKeySnapshot["explanation"]>(
      undefined,
      explained([]),
      explained(["sak_7"]),
      explained(undefined),
    ),
    isPlanned: fc.boolean(),
    secretsAreWatched: fc.boolean(),
    deletion: rarely(fc.record({ since: before, blocked: maybe(recently) })),
    rotateToken: mostly(undefined, "now"),
    reconcile: mostly(undefined, "now"),
    verdicts: mostly(undefined, rejected),
  })
  .map((drawn): Situation<ApiKeyKind> => {
    const { account, target, deletion, rotateToken, reconcile, verdicts, ...rest } = drawn;
    const { object, self } = keys.snapshot();
    const metadata = {
      ...object.metadata,
      annotations: reconcile === undefined ? {} : { [annotations.reconcileRequestedAt]: reconcile },
      ...(deletion && { deletionTimestamp: toIso8601(deletion.since) }),
    };
    // The deadline of a suspended deletion does not run.
    const blocked = rest.spec.suspend ? undefined : deletion?.blocked;
    const snapshot = keys.snapshot({
      ...rest,
      object: blockedSince({ ...object, metadata }, blocked),
      self: { ...self, deletingSince: deletion?.since, rotateToken },
      account: account.kind === "Ready" ? { ...keys.account, ...account } : account,
      target: (targets[target] ?? (() => absent))(rest.spec, rest.status.current),
    });
    const known = verdicts === undefined ? snapshot : { ...snapshot, verdicts };
    return { snapshot: known, spec: rest.spec, done: verdicts };
  });

export const requeued: Requeued<ApiKeyKind> = { rules, situations, now: NOW };
