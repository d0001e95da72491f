import { expect, test } from "vitest";
import { lookUpAccount } from "../../../src/accounts/look-up.ts";
import { IamError, type IamErrorCode } from "../../../src/console/errors.ts";
import type { IamServiceAccount, IamServiceAccountDetail } from "../../../src/console/model.ts";
import { ACCOUNT, clientOf, startConsole } from "../console/clients.ts";

type Listing = readonly IamServiceAccount[] | IamErrorCode;

const known: IamServiceAccountDetail = { saId: "sa-1", keyIds: ["sak_1"] };

function lookUp(detail: IamServiceAccountDetail | undefined, listing?: Listing) {
  const client = {
    getServiceAccount: async () => detail,
    listServiceAccounts: async () => {
      if (listing === undefined) throw new Error("nobody needs the listing");
      if (typeof listing !== "string") return listing;
      throw new IamError(listing, "no", { operation: "listServiceAccounts" });
    },
  };
  return lookUpAccount(client, "sa-1", new AbortController().signal);
}

test("an account that the console knows needs no second question", async () => {
  expect(await lookUp(known)).toBe(known);
});

test("an answer about another account is none", async () => {
  const answer = lookUp({ saId: "sa-2", keyIds: [] });
  await expect(answer).rejects.toMatchObject({ code: "MalformedResponse" });
});

test.each<[string, Listing]>([
  ["the listing does not have it either", [{ saId: "sa-2" }]],
  ["there are no accounts", []],
])("a 404 is believed where %s", async (_, listing) => {
  expect(await lookUp(undefined, listing)).toBeUndefined();
});

test.each<[string, Listing, IamErrorCode]>([
  ["the listing has the account", [{ saId: "sa-1" }], "Unavailable"],
  ["the listing is a 404 as well", "NotFound", "Unavailable"],
  ["the listing fails", "Timeout", "Timeout"],
  ["accounts may not be listed", "PermissionDenied", "Unavailable"],
  ["the listing cannot be read, or is too large", "MalformedResponse", "Unavailable"],
])("a 404 is not believed where %s", async (_, listing, code) => {
  await expect(lookUp(undefined, listing)).rejects.toMatchObject({ name: "IamError", code });
});

test("a 404 beside a list in pages names the field that has all pages read", async () => {
  const server = await startConsole();
  for (let n = 0; n < 21; n += 1) server.world.createAccount({ ...ACCOUNT, name: `sa-${n}` });
  const signal = new AbortController().signal;
  const answer = lookUpAccount(clientOf(server), "sa-nowhere", signal);
  await expect(answer).rejects.toMatchObject({
    code: "Unavailable",
    message: expect.stringMatching(/Ask the .* to name .* in spec\.accountListPages\.$/),
  });
  const pages = { pageParameter: "page", pageSizeParameter: "pageSize", pageSize: 9, firstPage: 1 };
  const paging = clientOf(server, { accountListPages: pages });
  expect(await lookUpAccount(paging, "sa-nowhere", signal)).toBeUndefined();
});
