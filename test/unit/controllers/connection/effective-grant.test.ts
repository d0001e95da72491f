import { expect, test } from "vitest";
import type { Grant } from "../../../../src/api/connection.ts";
import { effectiveGrant } from "../../../../src/controllers/connection/rules/effective-grant.ts";

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

test.each<{
  name: string;
  namespaces: Grant["namespaces"];
  labels?: Record<string, string>;
  granted: boolean;
}>([
  { name: "a name grants", namespaces: teamA, granted: true },
  { name: "another name does not", namespaces: { names: ["team-b"] }, granted: false },
  { name: "a name grants a namespace that was not seen", namespaces: teamA, granted: true },
  {
    name: "all labels must match",
    namespaces: byLabel({ a: "1", b: "2" }),
    labels: { a: "1" },
    granted: false,
  },
  {
    name: "further labels do not matter",
    namespaces: byLabel({ a: "1" }),
    labels: { a: "1", b: "2" },
    granted: true,
  },
  {
    name: "a label needs its value",
    namespaces: byLabel({ a: "1" }),
    labels: { a: "2" },
    granted: false,
  },
  {
    name: "a selector grants nothing unseen",
    namespaces: { selector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] } },
    granted: false,
  },
  {
    name: "expressions must hold beside the labels",
    namespaces: {
      selector: {
        matchLabels: { a: "1" },
        matchExpressions: [{ key: "b", operator: "NotIn", values: ["2"] }],
      },
    },
    labels: { a: "1", b: "2" },
    granted: false,
  },
  { name: "all grants what was not seen either", namespaces: { all: true }, granted: true },
  { name: "all: false grants nothing", namespaces: { all: false }, labels: {}, granted: false },
  { name: "neither names nor selector grants nothing", namespaces: {}, labels: {}, granted: false },
  {
    name: "a name or a label is enough",
    namespaces: { names: ["x"], ...byLabel({ a: "1" }) },
    labels: { a: "1" },
    granted: true,
  },
])("$name", ({ namespaces, labels, granted }) => {
  expect(effectiveGrant(granting([grant(namespaces)]), "team-a", labels) !== undefined).toBe(
    granted,
  );
});

test("matching grants add up and others do not", () => {
  const grants = [
    grant(teamA, { policyIds: ["p1", "p2"], maxExpiresInDays: 30, quotaExports: [7] }),
    grant(byLabel({ a: "1" }), {
      policyIds: ["p2", "p3"],
      importServiceAccounts: true,
      retainPolicies: true,
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
    maxServiceAccounts: undefined,
    maxIssuesPerDay: undefined,
    quotaExports: [7, 8],
  });
});

test.each<{
  name: string;
  other: Grant;
  labels?: Record<string, string>;
  gracePeriod?: string;
  expected: boolean;
}>([
  { name: "by default", other: grant(teamA), expected: true },
  { name: "at once", other: grant(teamA), gracePeriod: "0s", expected: true },
  {
    name: "not where the connection says Never",
    other: grant(teamA),
    gracePeriod: "Never",
    expected: false,
  },
  {
    name: "not where a selector may match a namespace whose labels are unknown (S11)",
    other: grant(byLabel({ a: "1" })),
    expected: false,
  },
  {
    name: "a selector that does not match has no say",
    other: grant(byLabel({ a: "1" })),
    labels: {},
    expected: true,
  },
])("withdrawn policies are unbound: $name", ({ other, labels, gracePeriod, expected }) => {
  const grants = granting([grant(teamA, { policyIds: ["p1"] }), other], gracePeriod);
  expect(effectiveGrant(grants, "team-a", labels)?.withdrawsPolicies).toBe(expected);
});

test("any policy is any policy", () => {
  const grants = [grant(teamA, { policyIds: ["p1"] }), grant(teamA, { policyIds: ["*"] })];
  expect(effectiveGrant(granting(grants), "team-a", {})?.policyIds).toEqual(["*"]);
});
