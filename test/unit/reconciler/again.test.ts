/** When an object is reconciled again: at intervals, on request, after a failure. */
import { expect, test } from "vitest";
import { annotations } from "../../../src/api/meta.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import { SpecError, StatusWriteFailed, UrgentFailure } from "../../../src/reconciler/errors.ts";
import { errorPolicy } from "../../../src/reconciler/rules/error-policy.ts";
import { openRequest } from "../../../src/reconciler/rules/request.ts";
import { requeueMs } from "../../../src/reconciler/rules/requeue.ts";
import { MINUTE } from "../../../src/util/time.ts";

const settled = { kind: "Settled" } as const;
const waiting = (afterMs?: number) => {
  const said = { state: "Reconciling", reason: "Pending", message: "It is so." } as const;
  return { kind: "Waiting", ...said, ...(afterMs === undefined ? {} : { afterMs }) } as const;
};

test.each<[string, Parameters<typeof requeueMs>[0], number | undefined, number | undefined]>([
  ["never without a reason", settled, undefined, undefined],
  ["when its report wants it", settled, 5, 5],
  ["at once if that is over", settled, -5, 0],
  ["as soon as a wait or its report wants it", waiting(7), 5, 5],
  ["at once if the wait is over", waiting(-1), undefined, 0],
  ["after a while if it is unknown when a wait ends", waiting(), undefined, 10 * MINUTE],
])("a run is repeated %s", (_, outcome, reportedMs, expected) => {
  expect(requeueMs(outcome, reportedMs)).toBe(expected);
});

test.each([
  [undefined, undefined, undefined],
  ["one", undefined, "one"],
  ["one", "one", undefined],
  ["two", "one", "two"],
])("of the request %s with %s handled, %s is open", (requested, handled, open) => {
  const set = requested === undefined ? {} : { [annotations.reconcileRequestedAt]: requested };
  const metadata = { name: "o", annotations: set };
  const status = handled === undefined ? {} : { lastHandledReconcileAt: handled };
  expect(openRequest({ metadata, status } as never)).toBe(open);
});

const slow = new Error("a bug");
const busy = (retryAt?: number) =>
  new KubeError("RateLimited", "busy", retryAt === undefined ? {} : { retryAt });
const invalid = new KubeError("Invalid", "no such field");

test.each<[string, Error, object]>([
  ["an urgent failure is retried sooner", new UrgentFailure(busy()), { isUrgent: true }],
  ["an urgent failure that only a change ends is not", new UrgentFailure(invalid), {}],
  ["a wrong spec waits for a change", new SpecError("R", "m"), {}],
  ["a wrong spec may be checked sooner", new SpecError("R", "m", 5), { resyncMs: 5 }],
  ["a server that is busy names a time", busy(7), { notBefore: 7 }],
  ["an unknown error is retried slowly", slow, {}],
  ["a report that failed waits as well", new StatusWriteFailed(busy(3), busy(9)), { notBefore: 9 }],
  ["the failure may wait longer", new StatusWriteFailed(busy(9), invalid), { notBefore: 9 }],
  [
    "if neither names a time, the retry has no earliest time",
    new StatusWriteFailed(slow, invalid),
    {},
  ],
])("%s", (_, error, more) => {
  const { kind, ...rest } = errorPolicy(error);
  expect(rest).toStrictEqual(more);
  expect(kind).toMatch(/^(Retry|SlowRetry|Terminal)$/);
});
