/** What the PolicyBindings of an account report after a run, and when the next one is due. */
import { expect, test } from "vitest";
import type { UsableSnapshot } from "../../../../src/kinds/policy-binding/rules/evaluate.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import { account, bindingOf, live, recorded, snapshot, usable } from "./builders.ts";

const settled = { kind: "Settled" } as const;
const why = { reason: "WaitingForServiceAccount", state: "Reconciling", message: "No." } as const;
const revoked = { ...recorded([]), accessRevoked: true };

test.each<[boolean, string, UsableSnapshot]>([
  [true, "a policy of a deleted object is still bound", usable({}, ["p1 revoking, on record: "])],
  [true, "access is to be revoked", usable({ ...revoked, revocationSubmitted: false }, [])],
  [false, "access is revoked", usable(revoked, [])],
  [false, "all is as declared", usable(recorded(["p1"]), ["p1"], live("p1"))],
])("a run is urgent (%j) if %s", (isUrgent, _, given) => {
  expect(report(given, settled, given.state).isUrgent).toBe(isUrgent);
});

test("a deleted object that only other finalizers keep gets no status", () => {
  const given = usable({}, ["p1 releasing new"], live(""));
  expect(report(given, settled, given.state).objects).toEqual([]);
});

test.each([
  [undefined, 2],
  ["AccountGone", undefined],
] as const)("while an account is unavailable (%s), %j policies are counted", (endsAs, count) => {
  const view = bindingOf("p1");
  const availability = { kind: "Unavailable", ...(endsAs && { endsAs }), ...why } as const;
  const given = snapshot(account(), [view], { availability });
  const object = { ...given.objects.get(view.uid), status: { policyCount: 2 } };
  const objects = new Map([[view.uid, object as never]]);
  const { objects: reports } = report(
    { ...given, objects },
    { kind: "Waiting", ...why },
    undefined,
  );
  expect(reports[0]?.status).toMatchObject({ policyCount: count });
});

test("an object that waits for the trial of another is tried at once", () => {
  const given = usable(recorded([]), ["p1, on record: ", "p2, on record: "], live(""));
  const state = { ...given.state, isolating: true };
  expect(report({ ...given, state }, settled, state).requeueAfterMs).toBe(1);
});
