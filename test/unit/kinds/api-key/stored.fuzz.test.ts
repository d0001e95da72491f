/** Objects as users and earlier versions may have left them: whatever is stored, a status can be written. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ApiKeyStatus, apiKeyKind } from "../../../../src/api/api-key.ts";
import { conditionSchema, readinessConditions } from "../../../../src/api/conditions.ts";
import { annotations } from "../../../../src/api/meta.ts";
import { readinessOf } from "../../../../src/kinds/api-key/rules/readiness.ts";
import { nextDueMs } from "../../../../src/kinds/api-key/rules/report.ts";
import { keyStatusCodec } from "../../../../src/kinds/api-key/rules/status.ts";
import { viewSecret } from "../../../../src/kinds/api-key/secret/view.ts";
import { requestToken } from "../../../../src/reconciler/rules/request.ts";
import { effort } from "../../../setup/effort.ts";
import { at, delivered, keySpec, NOW, noKeys, object, owner, reportedStatus } from "./builders.ts";

const anyText = fc.string({ unit: "binary", maxLength: 600 });
const long = fc.constantFrom("x".repeat(2_000), "😀".repeat(700), `${"x".repeat(255)}😀`);
/** What the API server takes for a date-time. */
const time = fc.oneof(
  fc
    .integer({ min: -62_167_219_200, max: 253_402_300_799 })
    .map((seconds) => new Date(seconds * 1_000).toISOString()),
  fc.constantFrom("2016-12-31T23:59:60Z", "0000-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
);
const keyId = fc.string({ minLength: 1, maxLength: 256 });
const life = { keyId, issueTime: time, expirationTime: time };
const attemptId = fc.string({ maxLength: 64 });
const revision = fc.integer({ min: 1, max: 2 ** 31 });
const state = fc.constantFrom("Live", "Inactive", "Disabled", "Deleted", "Expired");
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const maybeList = <T>(parts: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  maybe(fc.array(fc.record(parts), { maxLength: 4 }));
const condition = fc.record({
  type: fc.constantFrom("Ready", "Stalled", "Verified", "Old"),
  status: fc.constantFrom("True", "False", "Unknown"),
  reason: fc.string({ maxLength: 30 }),
  message: fc.string(),
  lastTransitionTime: fc.constant("2026-01-01T00:00:00Z"),
});
const statuses = fc
  .record({
    current: maybe(fc.record({ ...life, verificationTime: time, revision })),
    attempt: maybe(fc.record({ id: attemptId, revision, reason: attemptId, startTime: time })),
    superseded: maybeList({ ...life, supersededTime: time, state }),
    orphaned: maybeList({ keyId, attemptId, observedTime: time, expirationTime: time }),
    recentIssues: maybeList({ time, requested: maybe(fc.constant(true)) }),
    earlierRotateRequests: maybe(fc.array(fc.string({ maxLength: 64 }), { maxLength: 9 })),
    conditions: maybe(fc.uniqueArray(condition, { maxLength: 5, selector: ({ type }) => type })),
  })
  .map((status): ApiKeyStatus => JSON.parse(JSON.stringify(status)));
const requests = fc.dictionary(
  fc.constantFrom(annotations.reconcileRequestedAt, annotations.rotateRequestedAt, "__proto__"),
  fc.oneof(anyText, long),
);

/** As the API server would say: valid by the schema, and unchanged by the way there and back. */
function expectWritable(status: ApiKeyStatus): void {
  expect(apiKeyKind.status.safeParse(status).error?.issues).toBeUndefined();
  expect(JSON.parse(Buffer.from(JSON.stringify(status)).toString("utf8"))).toEqual(status);
}

test("a decoded status comes back as it was", () => {
  const { decode, encode } = keyStatusCodec;
  fc.assert(
    fc.property(statuses.map(decode), (status) => {
      expect(decode(JSON.parse(JSON.stringify(encode(status))))).toEqual(status);
    }),
  );
  expect(decode(undefined)).toEqual(noKeys);
});

describe("a status that can be written", () => {
  test("follows from any stored status and any annotations", () => {
    fc.assert(
      fc.property(statuses, requests, (stored, asked) => {
        const { metadata } = object();
        const world = {
          ...delivered({ status: keyStatusCodec.decode(stored) }),
          object: { ...object(), status: stored, metadata: { ...metadata, annotations: asked } },
        };
        const settled = { kind: "Settled" } as const;
        expectWritable(reportedStatus(world, settled, at()));
        expect(readinessOf(world, settled, at()).message).not.toBe("");
        expect(nextDueMs(world, false, { now: NOW })).toBeGreaterThan(0);
      }),
      { numRuns: 500 * effort },
    );
  });

  test("notes a request as it will be read again, however long it is", () => {
    fc.assert(
      fc.property(fc.oneof(anyText, long), (asked) => {
        const read = () => requestToken({ name: "a", annotations: { asked } }, "asked");
        const token = read() ?? "";
        expect(token.length).toBeLessThanOrEqual(256);
        expect(token.isWellFormed()).toBe(true);
        expect(read()).toBe(token);
      }),
      { numRuns: 500 * effort },
    );
  });

  test("has conditions of any message", () => {
    const message = fc.oneof(
      anyText,
      long,
      fc.string({ unit: fc.constantFrom("😀", "é", "x"), minLength: 900, maxLength: 1_200 }),
    );
    fc.assert(
      fc.property(
        message.map((text) => text.toWellFormed()),
        fc.constantFrom("Ready", "Stalled", "Reconciling"),
        (text, turn) => {
          const conditions = readinessConditions(
            [],
            { state: turn as "Ready", reason: "Any", message: text },
            1,
            NOW,
          );
          for (const condition of conditions) {
            expect(conditionSchema.safeParse(condition).success).toBe(true);
            expect(condition.message.isWellFormed()).toBe(true);
          }
        },
      ),
      { numRuns: 300 * effort },
    );
  });
});

test("a Secret in any shape is judged, and one whose times cannot be written holds no pair", () => {
  const shape = fc.record(
    {
      type: fc.constantFrom("Opaque", "kubernetes.io/tls", ""),
      data: fc.dictionary(fc.constantFrom("keyId", "secret", "__proto__", ""), anyText),
      metadata: fc.record({
        name: fc.constant("ci"),
        labels: fc.dictionary(
          fc.constantFrom("iam-operator.io/api-key", "iam-operator.io/role", "a"),
          fc.constantFrom("ci", "target", ""),
        ),
        annotations: fc.dictionary(
          fc.constantFrom(...Object.values(annotations)),
          fc.oneof(anyText, time, fc.json()),
        ),
        ownerReferences: fc.array(
          fc.record({
            uid: fc.constantFrom(owner.uid, "other"),
            kind: fc.constant("ApiKey"),
            name: fc.constant("ci"),
            apiVersion: fc.constant("v1"),
            controller: fc.boolean(),
          }),
          { maxLength: 2 },
        ),
      }),
    },
    { requiredKeys: ["metadata"] },
  );
  fc.assert(
    fc.property(shape, fc.constantFrom("target", "pending"), (secret, role) => {
      const view = viewSecret(secret as never, owner, keySpec(), role as "target");
      expect(["Ours", "Foreign"]).toContain(view.kind);
      // Nobody can make up a pair and its hash by chance.
      expect(view.kind === "Ours" ? view.pair : undefined).toBeUndefined();
    }),
    { numRuns: 1_000 * effort },
  );
});
