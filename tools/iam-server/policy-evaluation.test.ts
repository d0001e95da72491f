import { describe, expect, test } from "vitest";
import {
  ANY_PARTITION,
  compileStatement,
  decide,
  parseResourceName,
  type ResourceName,
  type Statement,
} from "./policy-evaluation.ts";

const everywhere = "trn:*:*:org-1:*:prj-1:*/*";
const instance: ResourceName = {
  partition: "p1",
  service: "compute",
  orgId: "org-1",
  region: "r1",
  projectId: "prj-1",
  name: "instance/i-1",
};

function statement(effect: Statement["Effect"], action: string, resource = everywhere) {
  return compileStatement({ Sid: effect, Effect: effect, Action: [action], Resource: [resource] });
}
const reasonFor = (
  statements: readonly ReturnType<typeof statement>[],
  action: string,
  resource = instance,
) => decide(statements, action, resource).reason;

const READ = "svc:Compute.Instances.ReadInstance";

describe("actions", () => {
  test.each([
    [READ, READ, true],
    ["svc:Compute.Instances.*", READ, true],
    ["svc:Compute.*", READ, true],
    ["svc:Compute.Networks.*", READ, false],
    ["svc:Compute.Instance.*", READ, false],
    ["svc:Compute.Instances.Read", READ, false],
    ["svc:Compute.Instances.read*", READ, false],
    ["svc:compute.Instances.*", READ, false],
    ["svc:Compute.Instances.*", "svc:Compute.Instances.", false],
    ["svc:Compute.Instances.*", "svc:ComputeXInstances.ReadInstance", false],
  ])("%s covers %s: %s", (pattern, action, covered) => {
    const reason = covered ? "Allowed" : "NoAllowingPolicy";
    expect(reasonFor([statement("Allow", pattern)], action)).toBe(reason);
  });
});

describe("resources", () => {
  test.each<[string, Partial<ResourceName>, boolean]>([
    [everywhere, {}, true],
    [everywhere, { orgId: "org-2" }, false],
    [everywhere, { projectId: "prj-2" }, false],
    [everywhere, { partition: undefined }, true],
    ["trn:p1:*:org-1:*:prj-1:*/*", {}, true],
    ["trn:p1:*:org-1:*:prj-1:*/*", { partition: "p2" }, false],
    ["trn:p1:*:org-1:*:prj-1:*/*", { partition: undefined }, false],
    ["trn:p1:*:org-1:*:prj-1:*/*", { partition: ANY_PARTITION }, true],
    ["trn:p*:*:org-1:*:prj-1:*/*", { partition: "p7" }, true],
    ["trn:*:container:org-1:*:prj-1:*/*", {}, false],
    ["trn:*:compute:org-1:r1:prj-1:instance/*", {}, true],
    ["trn:*:*:org-1:*:prj-1:volume/*", {}, false],
    ["trn:*:*:org-1:*:prj-1:instance/i-1", {}, true],
    ["trn:*:*:org-1:*:prj-1:instance/i-2", {}, false],
    ["trn:*:*:org-1:*:prj-*:*/*", { projectId: "prj-9" }, true],
    ["trn:*:*:org.1:*:prj-1:*/*", {}, false],
    ["trn:*:*:org-1:*:prj-1", {}, false],
    ["tpn:*:*:org-1:*:prj-1:*/*", {}, false],
    ["*", {}, false],
  ])("%s covers an instance with %o: %s", (pattern, change, covered) => {
    const reason = covered ? "Allowed" : "NoAllowingPolicy";
    const resource = { ...instance, ...change };
    expect(reasonFor([statement("Allow", READ, pattern)], READ, resource)).toBe(reason);
  });

  test.each([
    ["trn:p1:compute:org-1:r1:prj-1:instance/i-1", instance],
    ["trn::compute:org-1:r1:prj-1:instance/i-1", { ...instance, partition: undefined }],
    ["trn:p1:compute:org-1:r1:prj-1:instance", undefined],
    ["trn:p1:compute:org-1:prj-1:instance/i-1", undefined],
    ["tpn:p1:compute:org-1:r1:prj-1:instance/i-1", undefined],
  ])("%s is read as %o", (text, expected) => {
    expect(parseResourceName(text)).toEqual(expected);
  });
});

describe("decision", () => {
  const allow = statement("Allow", "svc:Compute.Instances.*");
  const deny = statement("Deny", READ);
  test.each([
    ["nothing bound", [], "NoAllowingPolicy"],
    ["an Allow", [allow], "Allowed"],
    ["an Allow, then a Deny", [allow, deny], "ExplicitDeny"],
    ["a Deny, then an Allow", [deny, allow], "ExplicitDeny"],
    ["a Deny alone", [deny], "ExplicitDeny"],
    ["a Deny elsewhere", [allow, statement("Deny", "svc:Compute.Networks.*")], "Allowed"],
  ])("%s", (_, statements, reason) => {
    expect(reasonFor(statements, READ)).toBe(reason);
  });
});
