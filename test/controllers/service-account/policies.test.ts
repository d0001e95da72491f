import { expect, test } from "vitest";
import type { Known } from "../../../src/controllers/service-account/observe.ts";
import {
  barriers,
  claimIsLost,
  firstFinding,
} from "../../../src/controllers/service-account/policies.ts";
import { connectionSpec } from "../connection/specs.ts";
import { access, account, accountSpec, known, serviceAccount } from "./objects.ts";

const wish = (spec: object): Known["wish"] => ({ ok: true, spec: accountSpec(spec) });
const withAccess = (changes: object): Known["lookup"] => ({
  ok: true,
  access: { ...access, ...changes },
});

test.each<{ name: string; seen: Partial<Known>; found: string | undefined }>([
  { name: "an object in order passes", seen: {}, found: undefined },
  {
    name: "an invalid spec comes first",
    seen: { wish: { ok: false, message: "spec.name: too long" } },
    found: "Stalled InvalidSpec",
  },
  {
    name: "nothing is created while suspended",
    seen: { wish: wish({ suspend: true }) },
    found: "Reconciling Suspended",
  },
  {
    name: "an account that exists is looked at while suspended",
    seen: { wish: wish({ suspend: true }), account },
    found: undefined,
  },
  {
    name: "an object waits for its connection",
    seen: { lookup: { ok: false, reason: "ConnectionNotReady", message: "not yet" } },
    found: "Reconciling ConnectionNotReady",
  },
  {
    name: "a missing grant is for a person",
    seen: { lookup: { ok: false, reason: "NotGranted", message: "no grant" } },
    found: "Stalled NotGranted",
  },
  {
    name: "the connection's organization may be named",
    seen: { wish: wish({ orgId: "org-1" }) },
    found: undefined,
  },
  {
    name: "another organization than the connection's is refused",
    seen: { wish: wish({ orgId: "org-2" }) },
    found: "Stalled OrganizationMismatch",
  },
  {
    name: "a project must come from somewhere",
    seen: { lookup: withAccess({ spec: connectionSpec({ projectId: undefined }) }) },
    found: "Stalled ProjectMissing",
  },
  {
    name: "an import needs no project",
    seen: {
      wish: wish({ saId: "sa-1" }),
      lookup: withAccess({ spec: connectionSpec({ projectId: undefined }) }),
    },
    found: undefined,
  },
  {
    name: "an import needs its grant",
    seen: {
      wish: wish({ saId: "sa-1" }),
      lookup: withAccess({ grant: { ...access.grant, importServiceAccounts: false } }),
    },
    found: "Stalled NotGranted",
  },
])("$name", ({ seen, found }) => {
  const finding = firstFinding(barriers, known(seen));
  expect(finding && `${finding.state} ${finding.reason}`).toBe(found);
});

test("a lost claim names the winner", () => {
  const winner = serviceAccount({ metadata: { uid: "u0", namespace: "team-b", name: "old" } });
  expect(claimIsLost("sa-1", "u1", winner)).toEqual({
    state: "Stalled",
    reason: "AlreadyClaimed",
    message:
      "Service account sa-1 is already managed by the older ServiceAccount team-b/old. Delete one of the two.",
  });
  expect(claimIsLost("sa-1", "u0", winner)).toBeUndefined();
});
