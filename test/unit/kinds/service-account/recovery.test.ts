import { describe, expect, test } from "vitest";
import type { IamServiceAccount } from "../../../../src/console/model.ts";
import {
  explainAttempt,
  findExisting,
} from "../../../../src/kinds/service-account/rules/recovery.ts";
import { attemptId, describeAccount } from "../../../../src/resources/marker.ts";
import { accountName, key } from "./objects.ts";

const desired = {
  key,
  uid: "u1",
  clusterName: undefined,
  orgId: "org-1",
  projectId: "prj-1",
  name: accountName,
};
const attempt = attemptId("u1", "aaaaaaaaaaaa");
const listed = (saId: string, changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId,
  orgId: "org-1",
  projectId: "prj-1",
  name: accountName,
  ...changes,
});
const ours = describeAccount("builds", key, attempt);
const described = (saId: string, description = ours) => listed(saId, { description });
const byHand = "by hand";
const ofAttempt = (uid: string, id: string) => describeAccount("", key, attemptId(uid, id));
const elsewhere = [
  listed("sa-1", { orgId: "org-2", description: ours }),
  listed("sa-2", { projectId: "prj-2", description: ours }),
];

/** `Nothing`, `Found sa-1`, `Unclear sa-1 sa-2`. */
function toText(found: ReturnType<typeof findExisting>): string {
  if (found.kind === "Nothing") return found.kind;
  return [found.kind, ...(found.kind === "Found" ? [found.account.saId] : found.saIds)].join(" ");
}

interface Given {
  /** Another object has this account. */
  readonly claimed?: string;
  /** The console shows descriptions. */
  readonly described?: true;
}

test.each<[string, readonly IamServiceAccount[], string, Given?]>([
  ["an empty list means that nothing was created", [], "Nothing"],
  ["the description decides", [described("sa-1", byHand), described("sa-2")], "Found sa-2"],
  ["accounts of another origin do not matter", [described("sa-1", byHand)], "Nothing"],
  ["nor does one of another attempt", [described("sa-1", ofAttempt("u1", "b"))], "Nothing"],
  ["nor of other organizations and projects", elsewhere, "Nothing"],
  ["two of one attempt are ambiguous", [described("sa-1"), described("sa-2")], "Unclear sa-1 sa-2"],
  [
    "without descriptions the only one of that name is it",
    [listed("sa-1"), listed("sa-2", { name: "other" })],
    "Found sa-1",
  ],
  ["unless it is taken", [listed("sa-1")], "Unclear sa-1", { claimed: "sa-1" }],
  [
    "one of two is not it because the other is taken",
    [listed("sa-1"), listed("sa-2")],
    "Unclear sa-1 sa-2",
    { claimed: "sa-1" },
  ],
  ["one in another spelling", [listed("sa-1", { name: "Team-A-CI-Bot" })], "Found sa-1"],
  ["two of a name are ambiguous", [listed("sa-1"), described("sa-2", "")], "Unclear sa-1 sa-2"],
  [
    "a forged attempt takes no account without a description, if the console shows descriptions",
    [described("sa-1", "")],
    "Nothing",
    { described: true },
  ],
  [
    "then the description decides, too",
    [described("sa-1", ""), described("sa-2")],
    "Found sa-2",
    { described: true },
  ],
])("an attempt: %s", (_, listing, expected, given = {}) => {
  const isClaimed = (saId: string) => saId === given.claimed;
  const opened = { id: attempt, described: given.described };
  expect(toText(explainAttempt(listing, desired, opened, isClaimed))).toBe(expected);
});

test.each<[string, readonly IamServiceAccount[], string]>([
  ["a free name is free", [listed("sa-1", { name: "x" })], "Nothing"],
  ["the object's own, if its status was lost", [described("sa-1")], "Found sa-1"],
  [
    "the object's own in another spelling",
    [{ ...described("sa-2"), name: "CI-BOT" }],
    "Found sa-2",
  ],
  [
    "in another spelling, without a description",
    [listed("sa-1", { name: "Team-A-CI-Bot " })],
    "Unclear sa-1",
  ],
  [
    "another spelling, made for another object",
    [{ ...described("sa-1", byHand), name: "Team-A-CI-Bot" }],
    "Nothing",
  ],
  ["of an earlier object of that name", [described("sa-1", ofAttempt("u0", "a"))], "Unclear sa-1"],
  ["made by hand", [listed("sa-1"), described("sa-2", byHand)], "Unclear sa-1 sa-2"],
])("an existing account: %s", (_, listing, expected) => {
  expect(toText(findExisting(listing, desired))).toBe(expected);
});

describe("an account of a cluster", () => {
  const inCluster = (cluster?: string) =>
    described("sa-1", describeAccount("builds", key, attempt, cluster));
  const find = (clusterName: string | undefined, account: IamServiceAccount) =>
    toText(findExisting([account], { ...desired, clusterName }));

  test.each<[string, string | undefined, string | undefined, string]>([
    ["is its own without names", undefined, undefined, "Found sa-1"],
    ["is its own by name", "blue", "blue", "Found sa-1"],
    ["is its own from before it had a name", "blue", undefined, "Found sa-1"],
    ["is not another cluster's", "green", "blue", "Unclear sa-1"],
    ["is not a nameless cluster's", undefined, "blue", "Unclear sa-1"],
  ])("%s", (_, clusterName, marked, expected) => {
    expect(find(clusterName, inCluster(marked))).toBe(expected);
  });

  test("is of the attempt that created it, even if the cluster was renamed since", () => {
    const green = { ...desired, clusterName: "green" };
    const found = explainAttempt(
      [inCluster("blue")],
      green,
      { id: attempt, described: true },
      () => false,
    );
    expect(toText(found)).toBe("Found sa-1");
  });
});
