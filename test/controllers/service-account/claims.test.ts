import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { saIdIndex } from "../../../src/controllers/service-account/claims.ts";
import { resolveOwner } from "../../../src/controllers/service-account/rules/owner.ts";
import type { Claim } from "../../../src/controllers/service-account/rules/snapshot.ts";
import { accountSpec, serviceAccount } from "./objects.ts";

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
const claim = (by: ServiceAccount, changes: Partial<Claim> = {}): Claim => ({
  object: by,
  scope,
  mayImport: true,
  ...changes,
});

test.each<{ name: string; claims: readonly Claim[]; winner: string | undefined }>([
  { name: "nobody claims it", claims: [], winner: undefined },
  {
    name: "the oldest wins",
    claims: [claim(importing("b", 2)), claim(importing("a", 1))],
    winner: "a",
  },
  {
    name: "of one age the first uid wins",
    claims: [claim(importing("b", 1)), claim(having("a", 1))],
    winner: "a",
  },
  {
    name: "one that may not import blocks nobody",
    claims: [claim(importing("a", 1), { mayImport: false }), claim(importing("b", 2))],
    winner: "b",
  },
  {
    name: "one that has the account keeps it without the right to import",
    claims: [claim(having("a", 1), { mayImport: false }), claim(importing("b", 2))],
    winner: "a",
  },
  {
    name: "another console's account of that id is another one",
    claims: [
      claim(importing("a", 1), { scope: { ...scope, origin: "https://else.example.com" } }),
      claim(importing("b", 2)),
    ],
    winner: "b",
  },
  {
    name: "another organization's account of that id is another one",
    claims: [claim(having("a", 1), { scope: { ...scope, orgId: "org-2" } }), claim(having("b", 2))],
    winner: "b",
  },
  {
    name: "without a connection there is no claim",
    claims: [claim(importing("a", 1), { scope: undefined }), claim(importing("b", 2))],
    winner: "b",
  },
])("$name", ({ claims, winner }) => {
  expect(resolveOwner("sa-1", scope, claims)?.metadata.uid).toBe(winner);
});

test("an object is found by its saId, with its organization where it names one", () => {
  expect(saIdIndex(importing("a", 1))).toEqual(["sa-1"]);
  expect(saIdIndex(having("a", 1))).toEqual(["sa-1", "org-1/sa-1"]);
  expect(saIdIndex(serviceAccount())).toEqual([]);
});
