import { expect, test } from "vitest";
import { firstFinding } from "../../../../src/controllers/frame/rules/outcome.ts";
import { reconciling } from "../../../../src/controllers/frame/rules/waiting.ts";
import { preconditions } from "../../../../src/controllers/service-account/rules/preconditions.ts";
import type { AccountSnapshot } from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { connectionSpec } from "../connection/specs.ts";
import { access, account, claimOf, serviceAccount, snapshotOf } from "./objects.ts";

const withAccess = (changes: object): AccountSnapshot["connection"] => ({
  ok: true,
  access: { ...access, ...changes },
});

test.each<{
  name: string;
  seen?: Partial<AccountSnapshot>;
  spec?: object;
  found: string | undefined;
}>([
  { name: "an object in order passes", found: undefined },
  {
    name: "nothing is created while suspended",
    spec: { suspend: true },
    found: "Stalled Suspended",
  },
  {
    name: "an account that exists is looked at while suspended",
    seen: { account },
    spec: { suspend: true },
    found: undefined,
  },
  {
    name: "an object waits for its connection",
    seen: { connection: { ok: false, waiting: reconciling("ConnectionNotReady", "not yet") } },
    found: "Reconciling ConnectionNotReady",
  },
  {
    name: "the connection's organization may be named",
    spec: { orgId: "org-1" },
    found: undefined,
  },
  {
    name: "another organization than the connection's is refused",
    spec: { orgId: "org-2" },
    found: "Stalled OrganizationMismatch",
  },
  {
    name: "a project must come from somewhere",
    seen: { connection: withAccess({ spec: connectionSpec({ projectId: undefined }) }) },
    found: "Stalled ProjectMissing",
  },
  {
    name: "an import needs no project",
    spec: { saId: "sa-1" },
    seen: { connection: withAccess({ spec: connectionSpec({ projectId: undefined }) }) },
    found: undefined,
  },
  {
    name: "an import needs its grant",
    spec: { saId: "sa-1" },
    seen: { connection: withAccess({ grant: { ...access.grant, importServiceAccounts: false } }) },
    found: "Stalled NotGranted",
  },
  {
    name: "another project needs its grant",
    spec: { projectId: "prj-9" },
    seen: { connection: withAccess({ grant: { ...access.grant, projectIds: ["prj-8"] } }) },
    found: "Stalled ProjectNotGranted",
  },
  {
    name: "a granted project is used",
    spec: { projectId: "prj-9" },
    seen: { connection: withAccess({ grant: { ...access.grant, projectIds: ["prj-9"] } }) },
    found: undefined,
  },
  {
    name: "accounts are counted",
    seen: {
      accountsBefore: 2,
      connection: withAccess({ grant: { ...access.grant, maxServiceAccounts: 2 } }),
    },
    found: "Stalled TooManyServiceAccounts",
  },
  {
    name: "an account that is there is kept",
    seen: {
      account,
      accountsBefore: 2,
      connection: withAccess({ grant: { ...access.grant, maxServiceAccounts: 2 } }),
    },
    found: undefined,
  },
])("$name", ({ seen, spec, found }) => {
  const finding = firstFinding(preconditions, snapshotOf(seen, spec));
  expect(finding && `${finding.state} ${finding.reason}`).toBe(found);
});

test("a lost claim names the owner", () => {
  const older = { uid: "u0", namespace: "team-b", name: "old" };
  const owner = serviceAccount({ status: { saId: "sa-1" }, metadata: older });
  const otherClaims = new Map([["sa-1", [claimOf(owner, { mayImport: false })]]]);
  expect(firstFinding(preconditions, snapshotOf({ account, otherClaims }))).toMatchObject({
    state: "Stalled",
    reason: "AlreadyClaimed",
    message:
      "Service account sa-1 is already managed by ServiceAccount team-b/old. Delete one of the two ServiceAccounts.",
  });
  const ours = snapshotOf({ account, otherClaims: new Map() });
  expect(firstFinding(preconditions, ours)).toBeUndefined();
});
