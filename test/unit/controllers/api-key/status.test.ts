import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type KeyStatus,
  keyStatusCodec,
} from "../../../../src/controllers/api-key/rules/status.ts";
import { NOW, noKeys } from "./builders.ts";

test("a decoded status comes back as it was", () => {
  const instant = fc.integer({ min: 0, max: 4_000_000 }).map((seconds) => NOW + seconds * 1_000);
  const id = fc.string({ minLength: 1, maxLength: 8 });
  const life = { keyId: id, issueTime: instant, expirationTime: instant };
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
  const statuses: fc.Arbitrary<KeyStatus> = fc.record({
    lastRecoveryTime: maybe(instant),
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
    lastAttemptId: maybe(id),
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
        late: maybe(fc.constant(true)),
      }),
    ),
    issuances: maybe(fc.record({ windowStartTime: instant, count: fc.nat() })),
    lastHandledRotateAt: maybe(id),
    rotationPending: fc.boolean(),
  });
  fc.assert(
    fc.property(statuses, (each) => {
      const stored = JSON.parse(JSON.stringify(keyStatusCodec.encode(each)));
      expect(keyStatusCodec.decode(stored)).toEqual(each);
    }),
  );
  expect(keyStatusCodec.decode(undefined)).toEqual(noKeys);
});
