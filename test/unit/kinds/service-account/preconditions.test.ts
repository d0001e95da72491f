import { expect, test } from "vitest";
import { preconditions } from "../../../../src/kinds/service-account/rules/preconditions.ts";
import { firstFinding } from "../../../../src/reconciler/rules/outcome.ts";
import { reconciling } from "../../../../src/reconciler/rules/waiting.ts";
import { connectionSpec } from "../connection/specs.ts";
import {
  access,
  account,
  claimOf,
  type Given,
  NOW,
  serviceAccount,
  snapshotOf,
} from "./objects.ts";

const withAccess = (changes: object) => ({
  connection: { ok: true, access: { ...access, ...changes } } as const,
});
const granting = (changes: object) => withAccess({ grant: { ...access.grant, ...changes } });

const notReady = reconciling("ConnectionNotReady", "not yet");
const suspended = { spec: { suspend: true } };
const imported = { spec: { saId: "sa-1" } };
const projectless = withAccess({ spec: connectionSpec({ projectId: undefined }) });
const ofConnection = { spec: { projectId: "prj-1" } };
const ofProject = { spec: { projectId: "prj-9" } };
const attempt = { id: "u1-a", startTime: NOW, name: undefined, described: undefined };
const full = { accountsBefore: 2, ...granting({ maxServiceAccounts: 2 }) };

test.each<[string, Given, string?]>([
  ["an object in order passes", {}],
  ["nothing is created while suspended", suspended, "Stalled Suspended"],
  ["an account that exists is read while suspended", { ...suspended, account }],
  [
    "an object waits for its connection",
    { connection: { ok: false, waiting: notReady } },
    "Reconciling ConnectionNotReady",
  ],
  ["the connection's organization may be named", { spec: { orgId: "org-1" } }],
  ["another organization is refused", { spec: { orgId: "org-2" } }, "Stalled OrganizationMismatch"],
  ["a project must come from somewhere", projectless, "Stalled ProjectMissing"],
  ["it may come from the spec", { ...ofConnection, ...projectless }],
  ["an import needs no project", { ...imported, ...projectless }],
  ["an account that is there needs no project", { account, ...projectless }],
  [
    "an account that is there keeps its project",
    { ...ofProject, account, ...granting({ projectIds: [] }) },
  ],
  [
    "an import needs its grant",
    { ...imported, ...granting({ importServiceAccounts: false }) },
    "Stalled NotGranted",
  ],
  [
    "an imported account needs it as long as the object exists",
    { ...imported, account, ...granting({ importServiceAccounts: false }) },
    "Stalled NotGranted",
  ],
  [
    "a project needs its grant",
    { ...ofProject, ...granting({ projectIds: ["prj-8"] }) },
    "Stalled ProjectNotGranted",
  ],
  ["the connection's project needs no grant", { ...ofConnection, ...granting({ projectIds: [] }) }],
  ["the defaults need no grant", granting({ projectIds: [], importServiceAccounts: false })],
  ["a granted project is used", { ...ofProject, ...granting({ projectIds: ["prj-9"] }) }],
  ["accounts are counted", full, "Stalled TooManyServiceAccounts"],
  ["an account that is there is kept", { ...full, account }],
  ["one that an attempt may have created is looked for", { ...full, attempt }],
])("%s", (_, { spec, ...seen }, found) => {
  const finding = firstFinding(preconditions, snapshotOf(seen, spec));
  expect(finding && `${finding.state} ${finding.reason}`).toBe(found);
});

test.each([
  [
    "imports the account",
    imported,
    "Delete the one of the two that nothing uses, with spec.deletionPolicy: Retain: that changes nothing in the console.",
  ],
  [
    "names it in an edited status",
    {},
    `If the status was edited or restored, correct its saId; status.current.saId of an ApiKey of this object shows it: kubectl patch iamsa ci-bot -n team-a --subresource=status --type=merge -p '{"status":{"saId":"CORRECT-ID"}}'.`,
  ],
])("a lost claim of an object that %s names the owner", (_, change: object, advice) => {
  const older = { uid: "u0", namespace: "team-b", name: "old" };
  const owner = serviceAccount({ status: { saId: "sa-1" }, metadata: older });
  const otherClaims = new Map([["sa-1", [claimOf(owner, { mayImport: false })]]]);
  expect(
    firstFinding(preconditions, snapshotOf({ account, otherClaims, ...change })),
  ).toMatchObject({
    state: "Stalled",
    reason: "AlreadyClaimed",
    message: `Service account sa-1 is already managed by ServiceAccount team-b/old. ${advice}`,
  });
  const ours = snapshotOf({ account, otherClaims: new Map(), ...change });
  expect(firstFinding(preconditions, ours)).toBeUndefined();
});
