/** maxServiceAccounts counts accounts, not objects. */
import { expect, test } from "vitest";
import type { AccountListing } from "../../../../src/kinds/service-account/rules/snapshot.ts";
import { describeAccount } from "../../../../src/resources/marker.ts";
import { access, play } from "./objects.ts";

const created = (namespace: string, index: number) => ({
  saId: `sa-${index}`,
  name: `${namespace}-${index}`,
  orgId: "org-1",
  projectId: "prj-1",
  description: describeAccount("words", { namespace, name: `gone-${index}` }, `a1b2c3d4-${index}`),
});
const three = [1, 2, 3].map((index) => created("team-a", index));
const limit = (maxServiceAccounts?: number) => ({
  connection: {
    ok: true,
    access: { ...access, grant: { ...access.grant, maxServiceAccounts } },
  } as const,
});

function stepOf(listing: AccountListing, maxServiceAccounts?: number, unmarkedBefore = 0) {
  return play({ listing, ...limit(maxServiceAccounts), unmarkedBefore }).step;
}
const listed = (accounts = three) => ({ ok: true, accounts }) as const;

test("accounts whose objects are gone count as long as the console has them", () => {
  expect(stepOf(listed(), 3)).toMatchObject({ state: "Stalled", reason: "TooManyServiceAccounts" });
  expect(stepOf(listed(), 3)).toMatchObject({
    message: expect.stringContaining("sa-1, sa-2, sa-3"),
  });
  expect(stepOf(listed(), 4)).toEqual({ kind: "RecordAttempt" });
  expect(stepOf(listed())).toEqual({ kind: "RecordAttempt" });
});

test("imported accounts and creations under way count with them", () => {
  expect(stepOf(listed(), 4, 1)).toMatchObject({ reason: "TooManyServiceAccounts" });
});

test("accounts of other namespaces do not count, nor those that were created by hand", () => {
  const others = [1, 2, 3].map((index) => created("team-a-b", index));
  const byHand = [{ ...created("team-a", 4), description: "k8s team-a" }];
  expect(stepOf(listed([...others, ...byHand]), 1)).toEqual({ kind: "RecordAttempt" });
});

test("accounts of the same namespace in another cluster do not count, but those without a cluster", () => {
  const ofBlue = three.map((account, index) => ({
    ...account,
    description: describeAccount("", { namespace: "team-a", name: "x" }, `a-${index}`, "blue"),
  }));
  const stepIn = (clusterName: string | undefined, accounts: typeof three) =>
    play({ listing: listed(accounts), ...limit(3), clusterName }).step;
  expect(stepIn("green", ofBlue)).toEqual({ kind: "RecordAttempt" });
  expect(stepIn(undefined, ofBlue)).toEqual({ kind: "RecordAttempt" });
  expect(stepIn("blue", ofBlue)).toMatchObject({ reason: "TooManyServiceAccounts" });
  expect(stepIn("green", three)).toMatchObject({ reason: "TooManyServiceAccounts" });
});

test.each(["MalformedResponse", "NotFound", "PermissionDenied"] as const)(
  "with a limit, nothing is created while the list cannot be read: %s",
  (code) => {
    expect(stepOf({ ok: false, code }, 3)).toMatchObject({
      state: "Stalled",
      reason: "AccountListUnreadable",
    });
    expect(stepOf({ ok: false, code })).toEqual({ kind: "RecordAttempt" });
  },
);

test("nothing is created while the list is too large to be read, with or without a limit", () => {
  const tooLarge = { ok: false, code: "MalformedResponse", isTooLarge: true } as const;
  for (const most of [undefined, 100])
    expect(stepOf(tooLarge, most)).toMatchObject({
      state: "Stalled",
      reason: "AccountListTooLarge",
    });
});
