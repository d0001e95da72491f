import { expect, test } from "vitest";
import type { ServiceAccount } from "../../../../src/api/service-account.ts";
import { attemptId, describeAccount } from "../../../../src/controllers/marker.ts";
import { IamError } from "../../../../src/iam/errors.ts";
import type { IamServiceAccount } from "../../../../src/iam/model.ts";
import { accountName, accountSpec, key, serviceAccount } from "./objects.ts";
import { playDeletion } from "./play.ts";

const ours = describeAccount("builds", key, attemptId("u1", "aaaaaaaaaaaa"));
const tpn = "tpn:r1:org-1:prj-1:sa/sa-1";
const listed = (saId: string, changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId,
  name: accountName,
  ...changes,
});
const nothing = "Released";
/** Another object that has imported the account. */
const importer = serviceAccount({
  spec: accountSpec({ saId: "sa-1" }),
  status: { saId: "sa-1", orgId: "org-1", consoleURL: "https://console.example.com" },
  metadata: { uid: "u0", name: "importer" },
});

interface Console {
  readonly listing?: readonly IamServiceAccount[] | IamError;
  readonly detail?: IamServiceAccount;
}

function toMatch(found: unknown): unknown {
  if (typeof found !== "object" || found === null || "asymmetricMatch" in found) return found;
  return expect.objectContaining({
    ...found,
    account: expect.objectContaining("account" in found ? found.account : {}),
  });
}

/** The account that is found, or what the deletion comes to. */
async function find(
  { listing = [], detail }: Console,
  spec: object = {},
  others: readonly ServiceAccount[] = [],
) {
  const client = {
    listServiceAccounts: async () => {
      if (listing instanceof IamError) throw listing;
      return listing;
    },
    getServiceAccount: async () => detail && { ...detail, keyIds: [] },
    syncBindings: async () => undefined,
  };
  const { end, actions } = await playDeletion(client, {}, { projectId: "prj-1", ...spec }, others);
  const found = actions.find((action) => action.kind === "RecordAccount");
  if (found !== undefined) return found;
  if (end.kind === "Waiting") return end.reason;
  return [end.kind, ...end.events.map(({ reason, note }) => `${reason} ${note}`)].join(" ");
}

test.each<{
  name: string;
  listing: readonly IamServiceAccount[];
  others?: readonly ServiceAccount[];
  found: unknown;
}>([
  { name: "none of the name", listing: [listed("sa-1", { name: "other" })], found: nothing },
  {
    name: "its own, by the description",
    listing: [
      listed("sa-2", { description: "by hand" }),
      listed("sa-1", { description: ours, tpn }),
    ],
    found: { because: "Recovered", account: { saId: "sa-1", tpn, origin: "Created" } },
  },
  {
    name: "its own that another object has imported",
    listing: [listed("sa-1", { description: ours })],
    others: [importer],
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
    found: expect.stringMatching(/^Released CleanupIncomplete .* who created sa-1, which/),
  },
  {
    name: "one without a description that another object has",
    listing: [listed("sa-1")],
    others: [importer],
    found: nothing,
  },
  {
    name: "two of its own",
    listing: [listed("sa-1", { description: ours }), listed("sa-2", { description: ours })],
    found: expect.stringMatching(/^Released CleanupIncomplete .* who created sa-1, sa-2, which/),
  },
])("the listing has $name", async ({ listing, others, found }) => {
  expect(await find({ listing }, {}, others)).toEqual(toMatch(found));
});

test.each([
  ["PermissionDenied", "AccountUnknown"],
  ["Unavailable", "Unavailable"],
] as const)("a console that answers %s has not said that there is none", async (code, reason) => {
  const listing = new IamError(code, "no", { operation: "listServiceAccounts" });
  expect(await find({ listing })).toBe(reason);
});

const imported = { saId: "sa-1" };

test.each<{
  name: string;
  detail?: IamServiceAccount;
  others?: readonly ServiceAccount[];
  found: unknown;
}>([
  {
    name: "is known by the id in the spec",
    detail: listed("sa-1", { tpn, orgId: "org-1", projectId: "prj-1" }),
    found: { because: "Imported", account: { saId: "sa-1", tpn, origin: "Imported" } },
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
    others: [importer],
    found: nothing,
  },
])("an imported account $name", async ({ name: _, found, others, ...console }) => {
  expect(await find(console, imported, others)).toEqual(toMatch(found));
});
