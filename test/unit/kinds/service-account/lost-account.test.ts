import { expect, test } from "vitest";
import type { IamServiceAccount } from "../../../../src/console/model.ts";
import { nextOfLostAccount } from "../../../../src/kinds/service-account/rules/lost-account.ts";
import type { AccountSnapshot } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { attemptId, describeAccount } from "../../../../src/resources/marker.ts";
import {
  accountName,
  accountSpec,
  claimOf,
  deleted,
  key,
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

function find(seen: Partial<AccountSnapshot>, spec: object = {}) {
  return nextOfLostAccount(
    snapshotOf({ object: deleted, ...seen }, { projectId: "prj-1", ...spec }),
  );
}

function recorded(because: "Recovered" | "Imported", origin: "Created" | "Imported") {
  const account = expect.objectContaining({ saId: "sa-1", tpn, origin });
  return {
    kind: "Next",
    action: expect.objectContaining({ kind: "RecordAccount", because, account }),
  };
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
  expect(find({ listing: { ok: true, accounts }, ...others })).toEqual(found);
});

test("a console that does not answer has not said that there is none", () => {
  expect(find({})).toMatchObject({ kind: "Next", action: { kind: "ListAccounts" } });
  expect(find({ listing: { ok: false, code: "PermissionDenied" } })).toMatchObject({
    kind: "Unknown",
    finding: {
      reason: "AccountUnknown",
      message: expect.stringContaining("set spec.deletionPolicy: Retain to end the deletion"),
    },
  });
});

const answered = (detail?: IamServiceAccount): Partial<AccountSnapshot> => ({
  answer: { detail: detail && { ...detail, keyIds: [] } },
});

const inOrg = (orgId: string) => answered(listed("sa-1", { tpn, orgId, projectId: "prj-1" }));

test.each<[string, Partial<AccountSnapshot>, unknown]>([
  [
    "is asked for by the id in the spec",
    {},
    { kind: "Next", action: { kind: "GetAccount", saId: "sa-1" } },
  ],
  ["is known by the id in the spec", inOrg("org-1"), recorded("Imported", "Imported")],
  ["is none if the console knows none", answered(), nothing],
  ["is none if it belongs to another organization", inOrg("org-2"), nothing],
  ["is none if another object has it", { ...inOrg("org-1"), ...taken }, nothing],
])("an imported account %s", (_, seen, found) => {
  expect(find(seen, { saId: "sa-1" })).toEqual(found);
});
