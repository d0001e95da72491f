import { expect, test } from "vitest";
import type { IamServiceAccount } from "../../../../src/console/model.ts";
import {
  findCreated,
  findImported,
  leftToOwner,
} from "../../../../src/kinds/service-account/rules/lost-account.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { attemptId, describeAccount } from "../../../../src/resources/marker.ts";
import {
  accountName,
  accountSpec,
  claimOf,
  deleted,
  key,
  play,
  serviceAccount,
  snapshotOf,
} from "./objects.ts";

const ours = describeAccount("builds", key, attemptId("u1", "aaaaaaaaaaaa"));
const tpn = "tpn:r1:org-1:prj-1:sa/sa-1";
const listed = (saId: string, changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId,
  name: accountName,
  ...changes,
});
const nothing = { kind: "Nothing" };
/** Another object has imported the account. */
const importer = serviceAccount({
  spec: accountSpec({ saId: "sa-1" }),
  status: { saId: "sa-1", orgId: "org-1", consoleURL: "https://console.example.com" },
  metadata: { uid: "u0", name: "importer" },
});
const taken = { otherClaims: new Map([["sa-1", [claimOf(importer)]]]) };

const lost = (seen: Partial<AccountSnapshot>, spec: object = {}) =>
  snapshotOf({ object: deleted, ...seen }, { projectId: "prj-1", ...spec });

function recorded(because: "Recovered" | "Imported", origin: "Created" | "Imported") {
  const account = expect.objectContaining({ saId: "sa-1", tpn, origin });
  return { kind: "Found", because, account };
}

const own = (saId: string) => listed(saId, { description: ours, tpn });
const byHand = (saId: string) => listed(saId, { description: "by hand" });
const unclear = (...saIds: string[]) => ({ kind: "Unclear", saIds });

test.each<[string, readonly IamServiceAccount[], unknown, Partial<AccountSnapshot>?]>([
  ["none of the name", [listed("sa-1", { name: "other" })], nothing],
  ["its own, by the description", [byHand("sa-2"), own("sa-1")], recorded("Recovered", "Created")],
  ["its own that another object has imported", [own("sa-1")], nothing, taken],
  ["an account of others, by the description", [byHand("sa-1")], nothing],
  ["one without a description", [listed("sa-1"), byHand("sa-2")], unclear("sa-1")],
  ["one without a description that another object has", [listed("sa-1")], nothing, taken],
  ["two of its own", [own("sa-1"), own("sa-2")], unclear("sa-1", "sa-2")],
])("the list has %s", (_, accounts, found, others) => {
  expect(findCreated({ ...lost(others ?? {}), listing: { ok: true, accounts } })).toEqual(found);
});

test("a list that cannot be read has not said that there is none", () => {
  const listing = { ok: false, code: "PermissionDenied" } as const;
  expect(findCreated({ ...lost({}), listing })).toMatchObject({
    kind: "Blocked",
    finding: {
      reason: "AccountUnknown",
      message: expect.stringContaining("set spec.deletionPolicy: Retain to end the deletion"),
    },
  });
});

const inOrg = (orgId: string) => listed("sa-1", { tpn, orgId, projectId: "prj-1" });

test.each<[string, IamServiceAccount | undefined, unknown]>([
  ["is known by the id in the spec", inOrg("org-1"), recorded("Imported", "Imported")],
  ["is none if the console knows none", undefined, nothing],
  ["is none if it belongs to another organization", inOrg("org-2"), nothing],
])("an imported account %s", (_, detail, found) => {
  const answer = { detail: detail && { ...detail, keyIds: [] } };
  expect(findImported({ ...lost({}, { saId: "sa-1" }), answer })).toEqual(found);
});

test("an imported account that another object has is left to it", () => {
  const imports = { saId: "sa-1" };
  expect(leftToOwner("sa-1", lost(taken, imports))).toEqual(nothing);
  expect(play({ object: deleted, spec: imports, ...taken }).step.kind).toBe("Released");
  const asked = { kind: "GetAccount", saId: "sa-1" };
  expect(play({ object: deleted, spec: imports }).step).toEqual(asked);
});
