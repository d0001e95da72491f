import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { saIdIndex } from "../../../../src/kinds/service-account/claims.ts";
import {
  isClaimOn,
  otherOwnerOf,
  outranks,
} from "../../../../src/kinds/service-account/rules/owner.ts";
import type { Claim } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { accountSpec, claimOf, serviceAccount, snapshotOf } from "./objects.ts";

const scope = { origin: "https://console.example.com", orgIds: ["org-1"] };
const object = (uid: string, day: number, changes: Partial<ServiceAccount>) =>
  serviceAccount({
    ...changes,
    metadata: { uid, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
  });
const importing = (uid: string, day: number) =>
  object(uid, day, { spec: accountSpec({ saId: "sa-1" }) });
const having = (uid: string, day: number) =>
  object(uid, day, { status: { saId: "sa-1", orgId: "org-1" } });

/** Those that go on with the account, each of whom sees the others. */
function ownersOf(claims: readonly Claim[]): string {
  const valid = claims.filter((each) => isClaimOn("sa-1", scope, each));
  return valid
    .filter((each) => !valid.some((other) => other !== each && outranks(other, each)))
    .map((each) => each.object.metadata.uid)
    .join(" ");
}

const ofOther = object("a", 1, { spec: accountSpec({ saId: "sa-2" }) });
const elsewhere = { scope: { ...scope, origin: "https://else.example.com" } };
const imports = (uid: string, day: number, changes?: Partial<Claim>) =>
  claimOf(importing(uid, day), changes);
const has = (uid: string, day: number, changes?: Partial<Claim>) =>
  claimOf(having(uid, day), changes);
const unusable = { isUsable: false };
const unproven = { isProven: false };
const lost = { ...unproven, ...unusable };
const ungranted = { mayImport: false };
const ofNamespace = { isOfCluster: false };
const notOwned = object("a", 1, { status: { saId: "sa-1", ownership: "NotOwned" } });
const inBoth = { scope: { ...scope, orgIds: ["org-2", "org-1"] } };
const inOther = { scope: { ...scope, orgIds: ["org-2"] } };

test.each<[string, readonly Claim[], string]>([
  ["without a claim", [], ""],
  ["the oldest wins", [imports("b", 2), imports("a", 1)], "a"],
  ["the oldest of those that have it wins", [has("b", 2), has("a", 1)], "a"],
  ["of one age the first uid wins", [imports("b", 1), imports("a", 1)], "a"],
  ["one that may not import blocks no other", [imports("a", 1, ungranted), imports("b", 2)], "b"],
  ["one without the right keeps what it has", [has("a", 1, ungranted), imports("b", 2)], "a"],
  ["one that has it keeps it from an older one", [imports("a", 1), has("b", 2)], "b"],
  ["it keeps it without its connection", [has("a", 1, unusable), imports("b", 2)], "a"],
  ["found at another console, it is not taken", [has("a", 1, unproven), has("b", 2)], "b"],
  ["but it is claimed with a usable connection", [has("a", 1, unproven), imports("b", 2)], "a"],
  ["nor claimed without a login", [has("a", 1, lost), imports("b", 2)], "b"],
  ["ClusterConnections outrank Connections", [has("a", 1, ofNamespace), has("b", 2)], "b"],
  ["among Connections the oldest wins", [has("b", 2, ofNamespace), has("a", 1, ofNamespace)], "a"],
  ["both look for the account", [has("a", 1, ofNamespace), imports("b", 2)], "a b"],
  ["another console has its own ids", [imports("a", 1, elsewhere), imports("b", 2)], "b"],
  ["so has another organization", [has("a", 1, inOther), has("b", 2)], "b"],
  ["one that names two is in both", [has("a", 1, inBoth), has("b", 2)], "a"],
  ["one that the console did not confirm has no claim", [claimOf(notOwned), has("b", 2)], "b"],
  ["an import of another account is not a claim", [claimOf(ofOther), imports("b", 2)], "b"],
  ["no connection, no claim", [imports("a", 1, { scope: undefined }), imports("b", 2)], "b"],
])("%s", (_, claims, owner) => expect(ownersOf(claims)).toBe(owner));

test.each<[string, readonly Claim[], string | undefined]>([
  ["the older of the others", [has("c", 3), has("b", 2)], "b"],
  ["the older of the others, in any order", [has("b", 2), has("c", 3)], "b"],
  ["no younger object", [has("e", 5)], undefined],
  ["no object of another console", [has("b", 2, elsewhere)], undefined],
])("an account that an object has as well belongs to %s", (_, others, owner) => {
  const snapshot = snapshotOf({ claim: has("d", 4), otherClaims: new Map([["sa-1", others]]) });
  expect(otherOwnerOf("sa-1", snapshot)?.metadata.uid).toBe(owner);
});

test("an object is found by its saId, and one that has the account also apart from the others", () => {
  expect(saIdIndex(importing("a", 1))).toEqual(["sa-1"]);
  expect(saIdIndex(having("a", 1))).toEqual(["sa-1", "status/sa-1"]);
  expect(saIdIndex({ ...importing("a", 1), status: { saId: "sa-2" } })).toEqual(["sa-1"]);
  expect(saIdIndex(serviceAccount())).toEqual([]);
});
