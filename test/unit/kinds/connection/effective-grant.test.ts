import { expect, test } from "vitest";
import type { Grant } from "../../../../src/api/connection.ts";
import { effectiveGrant } from "../../../../src/kinds/connection/rules/effective-grant.ts";

const grant = (namespaces: Grant["namespaces"], rights: Partial<Grant> = {}): Grant => ({
  name: "g",
  policyIds: [],
  retainPolicies: false,
  importServiceAccounts: false,
  maxExpiresInDays: 90,
  projectIds: [],
  quotaExports: [],
  ...rights,
  namespaces,
});
const granting = (grants: readonly Grant[], withdrawalGracePeriod = "10m") => ({
  grants: [...grants],
  withdrawalGracePeriod,
});
const teamA = { names: ["team-a"] };
const byLabel = (matchLabels: Record<string, string>) => ({ selector: { matchLabels } });

const teamB = { names: ["team-b"] };
const unlabeled = { key: "a", operator: "DoesNotExist" } as const;
const notTwo = { key: "b", operator: "NotIn" as const, values: ["2"] };
const byBoth = { selector: { matchLabels: { a: "1" }, matchExpressions: [notTwo] } };
const either = { names: ["x"], ...byLabel({ a: "1" }) };

/** Without labels, the namespace was not seen. */
test.each<[string, Grant["namespaces"], boolean, Record<string, string>?]>([
  ["a name grants, even a namespace that was not seen", teamA, true],
  ["another name does not", teamB, false],
  ["all labels must match", byLabel({ a: "1", b: "2" }), false, { a: "1" }],
  ["further labels do not matter", byLabel({ a: "1" }), true, { a: "1", b: "2" }],
  ["a label needs its value", byLabel({ a: "1" }), false, { a: "2" }],
  ["a selector grants nothing unseen", { selector: { matchExpressions: [unlabeled] } }, false],
  ["expressions must hold beside the labels", byBoth, false, { a: "1", b: "2" }],
  ["all grants what was not seen either", { all: true }, true],
  ["all: false grants nothing", { all: false }, false, {}],
  ["neither names nor selector grants nothing", {}, false, {}],
  ["a name or a label is enough", either, true, { a: "1" }],
])("%s", (_, namespaces, granted, labels) => {
  const found = effectiveGrant(granting([grant(namespaces)]), "team-a", labels);
  expect(found !== undefined).toBe(granted);
});

test("matching grants add up and others do not", () => {
  const grants = [
    grant(teamA, {
      policyIds: ["p1", "p2"],
      maxExpiresInDays: 30,
      maxServiceAccounts: 5,
      maxIssuesPerDay: 4,
      quotaExports: [7],
    }),
    grant(byLabel({ a: "1" }), {
      policyIds: ["p2", "p3"],
      importServiceAccounts: true,
      retainPolicies: true,
      maxServiceAccounts: 3,
      quotaExports: [7, 8],
    }),
    grant({ names: ["team-b"] }, { policyIds: ["*"], maxExpiresInDays: 999, quotaExports: [9] }),
  ];
  expect(effectiveGrant(granting(grants), "team-a", { a: "1" })).toEqual({
    policyIds: ["p1", "p2", "p3"],
    withdrawsPolicies: true,
    retainPolicies: true,
    importServiceAccounts: true,
    maxExpiresInDays: 90,
    projectIds: [],
    maxServiceAccounts: 5,
    // One of the grants has no limit.
    maxIssuesPerDay: undefined,
    quotaExports: [7, 8],
  });
});

const selecting = grant(byLabel({ a: "1" }));

test.each<[string, Grant, boolean, string?, Record<string, string>?]>([
  ["by default", grant(teamA), true],
  ["at once", grant(teamA), true, "0s"],
  ["not if the connection says Never", grant(teamA), false, "Never"],
  ["not if a selector may match unknown labels (S11)", selecting, false],
  ["a selector that does not match changes nothing", selecting, true, "10m", {}],
])("withdrawn policies are unbound: %s", (_, other, expected, gracePeriod, labels) => {
  const grants = granting([grant(teamA, { policyIds: ["p1"] }), other], gracePeriod);
  expect(effectiveGrant(grants, "team-a", labels)?.withdrawsPolicies).toBe(expected);
});

test("any policy is any policy", () => {
  const grants = [grant(teamA, { policyIds: ["p1"] }), grant(teamA, { policyIds: ["*"] })];
  expect(effectiveGrant(granting(grants), "team-a", {})?.policyIds).toEqual(["*"]);
});
