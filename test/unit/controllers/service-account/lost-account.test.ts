import { expect, test } from "vitest";
import { attemptId, describeAccount } from "../../../../src/controllers/marker.ts";
import { nextOfLostAccount } from "../../../../src/controllers/service-account/rules/lost-account.ts";
import type { AccountSnapshot } from "../../../../src/controllers/service-account/rules/snapshot.ts";
import type { IamServiceAccount } from "../../../../src/iam/model.ts";
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

test.each<{
  name: string;
  listing: readonly IamServiceAccount[];
  others?: Partial<AccountSnapshot>;
  found: unknown;
}>([
  { name: "none of the name", listing: [listed("sa-1", { name: "other" })], found: nothing },
  {
    name: "its own, by the description",
    listing: [
      listed("sa-2", { description: "by hand" }),
      listed("sa-1", { description: ours, tpn }),
    ],
    found: recorded("Recovered", "Created"),
  },
  {
    name: "its own that another object has imported",
    listing: [listed("sa-1", { description: ours })],
    others: taken,
    found: nothing,
  },
  {
    name: "somebody else's, by the description",
    listing: [listed("sa-1", { description: "by hand" })],
    found: nothing,
  },
  {
    name: "one without a description, which anybody may have made",
    listing: [listed("sa-1"), listed("sa-2", { description: "by hand" })],
    found: { kind: "Unclear", saIds: ["sa-1"] },
  },
  {
    name: "one without a description that another object has",
    listing: [listed("sa-1")],
    others: taken,
    found: nothing,
  },
  {
    name: "two of its own",
    listing: [listed("sa-1", { description: ours }), listed("sa-2", { description: ours })],
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
])("the listing has $name", ({ listing, others, found }) => {
  expect(find({ listing: { ok: true, accounts: listing }, ...others })).toEqual(found);
});

test("a console that does not answer has not said that there is none", () => {
  expect(find({})).toMatchObject({ kind: "Next", action: { kind: "ListAccounts" } });
  expect(find({ listing: { ok: false, code: "PermissionDenied" } })).toMatchObject({
    kind: "Unknown",
    finding: { reason: "AccountUnknown" },
  });
});

const answered = (detail?: IamServiceAccount): Partial<AccountSnapshot> => ({
  answer: { detail: detail && { ...detail, keyIds: [] } },
});

test.each<{ name: string; seen: Partial<AccountSnapshot>; found: unknown }>([
  {
    name: "is asked for by the id in the spec",
    seen: {},
    found: { kind: "Next", action: { kind: "GetAccount", saId: "sa-1" } },
  },
  {
    name: "is known by the id in the spec",
    seen: answered(listed("sa-1", { tpn, orgId: "org-1", projectId: "prj-1" })),
    found: recorded("Imported", "Imported"),
  },
  { name: "is none where the console knows none", seen: answered(), found: nothing },
  {
    name: "is none where it belongs to another organization",
    seen: answered(listed("sa-1", { tpn, orgId: "org-2" })),
    found: nothing,
  },
  {
    name: "is none where another object has it",
    seen: { ...answered(listed("sa-1", { tpn })), ...taken },
    found: nothing,
  },
])("an imported account $name", ({ seen, found }) => {
  expect(find(seen, { saId: "sa-1" })).toEqual(found);
});
