import { expect, test } from "vitest";
import { attemptId, describeAccount } from "../../../src/controllers/service-account/marker.ts";
import { type Claims, recallAccount } from "../../../src/controllers/service-account/recall.ts";
import type { IamClient } from "../../../src/iam/client/client.ts";
import { IamError } from "../../../src/iam/errors.ts";
import type { IamServiceAccount } from "../../../src/iam/model.ts";
import { access, accountSpec, key, known } from "./objects.ts";

const ours = describeAccount("builds", key, attemptId("u1", "aaaaaaaaaaaa"));
const tpn = "tpn:r1:org-1:prj-1:sa/sa-1";
const listed = (saId: string, changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId,
  name: "ci-bot",
  ...changes,
});
const free: Claims = { isNamed: () => false, isLost: async () => false };
const nothing = { kind: "Nothing" };

interface Console {
  readonly listing?: readonly IamServiceAccount[] | IamError;
  readonly detail?: IamServiceAccount;
}

function recall({ listing = [], detail }: Console, spec: object = {}, claims = free) {
  const client = {
    extra: {},
    listServiceAccounts: async () => {
      if (listing instanceof IamError) throw listing;
      return listing;
    },
    getServiceAccount: async () => detail && { ...detail, keyIds: [] },
  } as unknown as IamClient;
  const wish = accountSpec({ projectId: "prj-1", ...spec });
  const situation = {
    known: known({ deleting: true, wish: { ok: true, spec: wish } }),
    spec: wish,
    access: { ...access, client },
  };
  return recallAccount(situation, claims, new AbortController().signal);
}

test.each<{ name: string; listing: readonly IamServiceAccount[]; claims?: Claims; found: object }>([
  { name: "none of the name", listing: [listed("sa-1", { name: "other" })], found: nothing },
  {
    name: "its own, by the description",
    listing: [
      listed("sa-2", { description: "by hand" }),
      listed("sa-1", { description: ours, tpn }),
    ],
    found: { kind: "Account", account: { saId: "sa-1", tpn, origin: "Created" } },
  },
  {
    name: "its own that another object has imported",
    listing: [listed("sa-1", { description: ours })],
    claims: { ...free, isNamed: () => true },
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
    claims: { ...free, isNamed: () => true },
    found: nothing,
  },
  {
    name: "two of its own",
    listing: [listed("sa-1", { description: ours }), listed("sa-2", { description: ours })],
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
])("the listing has $name", async ({ listing, claims, found }) => {
  expect(await recall({ listing }, {}, claims)).toMatchObject(found);
});

test.each([
  ["PermissionDenied", "AccountUnknown"],
  ["Unavailable", "Unavailable"],
] as const)("a console that answers %s has not said that there is none", async (code, reason) => {
  const listing = new IamError(code, "no", { operation: "listServiceAccounts" });
  expect(await recall({ listing })).toMatchObject({ kind: "Unanswered", finding: { reason } });
});

const imported = { saId: "sa-1" };

test.each<{ name: string; detail?: IamServiceAccount; claims?: Claims; found: object }>([
  {
    name: "is known by the id in the spec",
    detail: listed("sa-1", { tpn, orgId: "org-1", projectId: "prj-1" }),
    found: { kind: "Account", account: { saId: "sa-1", tpn, origin: "Imported" } },
  },
  { name: "is none where the console knows none", found: nothing },
  {
    name: "is none where it belongs to another organization",
    detail: listed("sa-1", { tpn, orgId: "org-2" }),
    found: nothing,
  },
  {
    name: "is none where another object has it",
    detail: listed("sa-1", { tpn }),
    claims: { ...free, isLost: async () => true },
    found: nothing,
  },
])("an imported account $name", async ({ name: _, found, claims, ...console }) => {
  expect(await recall(console, imported, claims)).toMatchObject(found);
});
