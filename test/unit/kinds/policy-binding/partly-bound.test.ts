/** PolicyBindings whose policies are not, or not only, what is bound. */
import { expect, test } from "vitest";
import type { PolicyBinding } from "../../../../src/api/policy-binding.ts";
import { IamError } from "../../../../src/console/errors.ts";
import { describeBound } from "../../../../src/kinds/policy-binding/rules/bound-text.ts";
import { withRefusals } from "../../../../src/kinds/policy-binding/rules/refusal.ts";
import { report } from "../../../../src/kinds/policy-binding/rules/report.ts";
import { withReported } from "../../../../src/kinds/policy-binding/rules/reported-refusal.ts";
import { toBindingView } from "../../../../src/kinds/policy-binding/rules/views.ts";
import { account, bindingOf, listOf, NOW, recorded, snapshot } from "./builders.ts";

const requestedNow = { "iam-operator.io/reconcile-requested-at": "now" };
const grant = { policyIds: ["p1"], withdrawsPolicies: true };

function readinessOf(text: string, live: string) {
  const who = account(recorded(listOf(live)));
  const given = snapshot(who, [bindingOf(text)], {
    source: "Server",
    live: { readable: true, policyIds: listOf(live) },
  });
  const { objects } = report(given, { kind: "Settled" }, undefined);
  return objects[0]?.readiness;
}

test("a policy that is not granted is not bound, and the others are", () => {
  const spec = { serviceAccountRef: { name: "ci-bot" }, policyIds: ["p1", "p2"] };
  const object = { metadata: { name: "reader", uid: "u" }, spec } as unknown as PolicyBinding;
  const view = toBindingView(object, { recorded: [], grant, mayRetain: false });
  expect(view).toMatchObject({ policyIds: ["p1"], refused: ["p2"] });
});

test.each([
  ["p1 suspended", "p1", "Ready", "1 policy is bound."],
  ["p1 suspended, on record: p1 p2", "p1 p2", "Stalled", "not in spec.policyIds: p2."],
  ["p1 p2 suspended, on record: p1", "p1", "Stalled", "Not bound for this object yet: p2."],
  ["p1 suspended, on record: p1", "", "Stalled", "Nothing is bound for this object."],
  ["p1 p2!, on record: p1", "p1", "Stalled", "Bound: p1."],
])("%s, where the console has %s, is %s: %s", (text, live, state, words) => {
  const readiness = readinessOf(text, live);
  expect(readiness?.state).toBe(state);
  expect(readiness?.message).toContain(words);
});

test("what an invalid spec names is not compared with what is bound", () => {
  const problem = { reason: "InvalidSpec", message: "spec.x: wrong.", advice: "" };
  const view = { ...bindingOf(", on record: p1"), problem };
  expect(describeBound(["p1"], view, false)).toBe("Bound: p1.");
});

test("an answer that cannot be read shows nothing of what is bound", () => {
  expect(describeBound(["p1"], bindingOf("p1 p2"), true)).toMatch(/which are bound is unknown\.$/);
});

test.each([
  [["POL-READ"], "policy POL-READ. Did you mean pol-read?", "Correct POL-READ in spec.policyIds."],
  [
    ["pol-raed", "other"],
    "the policies pol-raed, other. Did you mean pol-read?",
    "Correct pol-raed in spec.policyIds. Ask the administrator of the connection to add other to policyIds of a grant, or remove other from spec.policyIds.",
  ],
  [
    ["POL-READ", "pol-read"],
    "policy POL-READ. A policy",
    "Ask the administrator of the connection to add POL-READ to policyIds of a grant, or remove POL-READ from spec.policyIds.",
  ],
  [
    ["other"],
    "policy other. A policy",
    "Ask the administrator of the connection to add other to policyIds of a grant, or remove other from spec.policyIds.",
  ],
])(
  "%s, of which none is granted, is compared with granted policies",
  (policyIds, words, advice) => {
    const spec = { serviceAccountRef: { name: "ci-bot" }, policyIds };
    const object = { metadata: { name: "reader", uid: "u" }, spec } as unknown as PolicyBinding;
    const granted = { policyIds: ["pol-read", "pol-deploy"], withdrawsPolicies: true };
    const view = toBindingView(object, { recorded: [], grant: granted, mayRetain: false });
    expect(view.problem?.message).toContain(words);
    expect(view.problem?.advice).toBe(advice);
  },
);

test.each([
  ["pol-raed", "pol-raed is not among the organization's policies (did you mean pol-read?)."],
  [
    "Pol-Read",
    "Pol-Read is not among the organization's policies in this spelling (did you mean pol-read?).",
  ],
  ["Reader", "Reader is not among the organization's policies (did you mean pol-read?)."],
  ["Deployer", "Deployer is not among the organization's policies (did you mean pol-deploy?)."],
  ["pol-scq", "pol-scq is not among the organization's policies."],
  ["pol-other", "pol-other is not among the organization's policies."],
  ["pol-scp", "pol-scp is of kind scp, which cannot be bound to a service account."],
])("a refused policy %s: %s", (id, words) => {
  const { state } = snapshot(account(), []);
  if (state === undefined) throw new Error("no state");
  const refusal = new IamError("NotFound", "no", { operation: "syncBindings", sent: true });
  const suspects = [bindingOf(`${id}, on record: `)];
  const policies = [
    { policyId: "pol-read", name: "Reader" },
    { policyId: "pol-deploy", name: "Deployer" },
    { policyId: "pol-scp", kind: "SCP" },
  ];
  const { refusals } = withRefusals(state, { refusal, suspects, before: [] }, policies, NOW);
  expect(refusals.get("0-uid")?.problem.message).toContain(` Policy ${words}`);
});

test("a later refusal is told beside an earlier one", () => {
  const { state } = snapshot(account(), []);
  if (state === undefined) throw new Error("no state");
  const refusal = new IamError("NotFound", "no", { operation: "syncBindings", sent: true });
  const refusedBefore = (ids: string) => ({
    refusal,
    suspects: [bindingOf(`${ids}, on record: `)],
    before: [],
  });
  const first = withRefusals(state, refusedBefore("pol-x"), [{ policyId: "pol-y" }], NOW);
  const second = withRefusals(first, refusedBefore("pol-z"), [{ policyId: "pol-y" }], NOW);
  const { message } = second.refusals.get("0-uid")?.problem ?? {};
  expect(message).toMatch(/pol-x .*pol-z /);
});

test.each([
  ["suspended", { reason: "ServiceAccountSuspended", state: "Stalled" }],
  [
    "missing",
    { reason: "WaitingForServiceAccount", state: "Reconciling", endsAs: "AccountMissing" },
  ],
  ["gone", { reason: "WaitingForServiceAccount", state: "Reconciling", endsAs: "AccountGone" }],
] as const)("a request is handled though the account is %s", (_, why) => {
  const binding = { ...bindingOf("p1"), requestedAt: "now" };
  const availability = { kind: "Unavailable", message: "No.", ...why } as const;
  const given = snapshot(account(), [binding], { availability });
  const outcome = { kind: "Waiting", message: "No.", ...why } as const;
  const { objects } = report(given, outcome, undefined);
  expect(objects[0]?.handledRequest).toBe("now");
});

test.each([
  ["a refusal that only a person ends", "Stalled", "p1", "now"],
  ["a failure that is tried again", "Reconciling", "p1", undefined],
  ["a refusal that a suspended object does not report", "Stalled", "p1 suspended", undefined],
] as const)("a request is answered by what is reported: %s", (_, state, text, handled) => {
  const binding = { ...bindingOf(text), requestedAt: "now" };
  const given = snapshot(account(), [binding]);
  const readiness = { state, reason: "PermissionDenied", message: "No." };
  const { objects } = report(
    given,
    { kind: "Failed", error: new Error("no"), readiness },
    undefined,
  );
  expect(objects[0]?.handledRequest).toBe(handled);
});

test("a PolicyBinding of an account that is gone says so, whatever else is wrong with it", () => {
  const binding = { ...bindingOf("p1"), problem: { reason: "X", message: "x.", advice: "" } };
  const why = { reason: "WaitingForServiceAccount", state: "Reconciling", message: "No." } as const;
  const reasonOf = (endsAs: "AccountGone" | "AccountMissing") => {
    const availability = { kind: "Unavailable", endsAs, ...why } as const;
    const given = snapshot(account(), [binding], { availability });
    const { objects } = report(given, { kind: "Waiting", ...why }, undefined);
    return objects[0]?.readiness?.reason;
  };
  expect(reasonOf("AccountGone")).toBe("WaitingForServiceAccount");
  expect(reasonOf("AccountMissing")).toBe("X");
});

test.each([
  ["refusal is believed", {}, "PolicyRefused", ["p1"]],
  ["refusal of an earlier spec is not", { generation: 3 }, "PolicyRefused", ["p1", "p2"]],
  ["refusal before a request is not", { annotations: requestedNow }, "PolicyRefused", ["p1", "p2"]],
  ["other obstacle stops no policy", {}, "PermissionDenied", ["p1", "p2"]],
])("for a process without memory, a reported %s", (_, metadata, reason, policyIds) => {
  const ready = { type: "Ready", status: "False", reason, observedGeneration: 2 };
  const object = {
    metadata: { name: "reader", uid: "u", generation: 2, ...metadata },
    spec: { serviceAccountRef: { name: "ci-bot" }, policyIds: ["p1", "p2"] },
    status: { appliedPolicyIds: ["p1"], conditions: [ready] },
  } as unknown as PolicyBinding;
  const all = { policyIds: ["*"], withdrawsPolicies: true };
  const view = toBindingView(object, { recorded: [], grant: all, mayRetain: false });
  expect(withReported(view, object).policyIds).toEqual(policyIds);
});

test("a reported refusal of policies that are all bound now is over", () => {
  const ready = { type: "Ready", status: "False", reason: "PolicyRefused", observedGeneration: 1 };
  const object = { status: { conditions: [ready] } } as unknown as PolicyBinding;
  expect(withReported(bindingOf("p1"), object).problem).toBeUndefined();
});

test.each([true, false])("a spec may ask to retain policies: %j", (mayRetain) => {
  const spec = {
    serviceAccountRef: { name: "ci-bot" },
    policyIds: ["p1"],
    deletionPolicy: "Retain",
  };
  const object = { metadata: { name: "reader", uid: "u" }, spec } as unknown as PolicyBinding;
  const view = toBindingView(object, { recorded: [], grant, mayRetain });
  expect(view.retainRefused).toBe(!mayRetain);
});
