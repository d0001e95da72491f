import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { saIdIndex } from "../../../../src/controllers/service-account/claims.ts";
import { isClaimOn, outranks } from "../../../../src/controllers/service-account/rules/owner.ts";
import type { Claim } from "../../../../src/controllers/service-account/rules/snapshot.ts";
import { accountSpec, claimOf, serviceAccount } from "./objects.ts";

const scope = { origin: "https://console.example.com", orgId: "org-1" };
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

test.each<{ name: string; claims: readonly Claim[]; owner: string }>([
  { name: "nobody claims it", claims: [], owner: "" },
  {
    name: "the oldest wins",
    claims: [claimOf(importing("b", 2)), claimOf(importing("a", 1))],
    owner: "a",
  },
  {
    name: "the oldest of those that have it wins",
    claims: [claimOf(having("b", 2)), claimOf(having("a", 1))],
    owner: "a",
  },
  {
    name: "of one age the first uid wins",
    claims: [claimOf(importing("b", 1)), claimOf(importing("a", 1))],
    owner: "a",
  },
  {
    name: "one that may not import blocks nobody",
    claims: [claimOf(importing("a", 1), { mayImport: false }), claimOf(importing("b", 2))],
    owner: "b",
  },
  {
    name: "one that has the account keeps it without the right to import",
    claims: [claimOf(having("a", 1), { mayImport: false }), claimOf(importing("b", 2))],
    owner: "a",
  },
  {
    name: "one that has it keeps it from an older one that comes later",
    claims: [claimOf(importing("a", 1)), claimOf(having("b", 2))],
    owner: "b",
  },
  {
    name: "one that has it keeps it while its connection cannot be used",
    claims: [claimOf(having("a", 1), { isUsable: false }), claimOf(importing("b", 2))],
    owner: "a",
  },
  {
    name: "one that found it at another console does not take it from one that has it",
    claims: [claimOf(having("a", 1), { isProven: false }), claimOf(having("b", 2))],
    owner: "b",
  },
  {
    name: "one that found it at another console and cannot log in here claims nothing",
    claims: [
      claimOf(having("a", 1), { isProven: false, isUsable: false }),
      claimOf(importing("b", 2)),
    ],
    owner: "b",
  },
  {
    name: "a namespace's own connection does not outrank one of the cluster",
    claims: [claimOf(having("a", 1), { isOfCluster: false }), claimOf(having("b", 2))],
    owner: "b",
  },
  {
    name: "nor keep it from looking for the account",
    claims: [claimOf(having("a", 1), { isOfCluster: false }), claimOf(importing("b", 2))],
    owner: "a b",
  },
  {
    name: "another console's account of that id is another one",
    claims: [
      claimOf(importing("a", 1), { scope: { ...scope, origin: "https://else.example.com" } }),
      claimOf(importing("b", 2)),
    ],
    owner: "b",
  },
  {
    name: "another organization's account of that id is another one",
    claims: [
      claimOf(having("a", 1), { scope: { ...scope, orgId: "org-2" } }),
      claimOf(having("b", 2)),
    ],
    owner: "b",
  },
  {
    name: "without a connection there is no claim",
    claims: [claimOf(importing("a", 1), { scope: undefined }), claimOf(importing("b", 2))],
    owner: "b",
  },
])("$name", ({ claims, owner }) => {
  expect(ownersOf(claims)).toBe(owner);
});

test("an object is found by its saId, and one that has the account also apart from the others", () => {
  expect(saIdIndex(importing("a", 1))).toEqual(["sa-1"]);
  expect(saIdIndex(having("a", 1))).toEqual(["sa-1", "held/sa-1"]);
  expect(saIdIndex(serviceAccount())).toEqual([]);
});
