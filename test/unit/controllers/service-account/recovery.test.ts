import { expect, test } from "vitest";
import { attemptId, describeAccount, isOfObject } from "../../../../src/controllers/marker.ts";
import {
  explainAttempt,
  findExisting,
} from "../../../../src/controllers/service-account/rules/recovery.ts";
import type { IamServiceAccount } from "../../../../src/iam/model.ts";
import { accountName, key } from "./objects.ts";

const desired = { key, uid: "u1", orgId: "org-1", projectId: "prj-1", name: accountName };
const attempt = attemptId("u1", "aaaaaaaaaaaa");
const listed = (saId: string, changes: Partial<IamServiceAccount> = {}): IamServiceAccount => ({
  saId,
  orgId: "org-1",
  projectId: "prj-1",
  name: accountName,
  ...changes,
});
const ours = describeAccount("builds", key, attempt);
const nobody = () => false;

test.each<{
  name: string;
  listing: readonly IamServiceAccount[];
  isClaimed?: (saId: string) => boolean;
  described?: true;
  found: object;
}>([
  {
    name: "an empty listing means that nothing was created",
    listing: [],
    found: { kind: "Nothing" },
  },
  {
    name: "the account of the attempt is found among others of its name",
    listing: [listed("sa-1", { description: "by hand" }), listed("sa-2", { description: ours })],
    found: { kind: "Found", account: listed("sa-2", { description: ours }) },
  },
  {
    name: "accounts of another origin do not matter",
    listing: [listed("sa-1", { description: "by hand" })],
    found: { kind: "Nothing" },
  },
  {
    name: "an account of another attempt is not this one's",
    listing: [listed("sa-1", { description: describeAccount("", key, attemptId("u1", "b")) })],
    found: { kind: "Nothing" },
  },
  {
    name: "two accounts of one attempt are ambiguous",
    listing: [listed("sa-1", { description: ours }), listed("sa-2", { description: ours })],
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
  {
    name: "where descriptions are not echoed the only account of that name is it",
    listing: [listed("sa-1"), listed("sa-2", { name: "other" })],
    found: { kind: "Found", account: listed("sa-1") },
  },
  {
    name: "where descriptions are not echoed an account that is taken is not it",
    listing: [listed("sa-1")],
    isClaimed: (saId) => saId === "sa-1",
    found: { kind: "Unclear", saIds: ["sa-1"] },
  },
  {
    name: "where descriptions are not echoed, one of two is not it because the other is taken",
    listing: [listed("sa-1"), listed("sa-2")],
    isClaimed: (saId) => saId === "sa-1",
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
  {
    name: "where descriptions are not echoed two of a name are ambiguous",
    listing: [listed("sa-1"), listed("sa-2", { description: "" })],
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
  {
    name: "other organizations and projects do not matter",
    listing: [
      listed("sa-1", { orgId: "org-2", description: ours }),
      listed("sa-2", { projectId: "prj-2", description: ours }),
    ],
    found: { kind: "Nothing" },
  },
  {
    name: "where descriptions are shown, an account without one is not taken: a forged attempt gains nothing",
    listing: [listed("sa-1", { description: "" })],
    described: true,
    found: { kind: "Nothing" },
  },
  {
    name: "where descriptions are shown, the description decides",
    listing: [listed("sa-1", { description: "" }), listed("sa-2", { description: ours })],
    described: true,
    found: { kind: "Found", account: expect.objectContaining({ saId: "sa-2" }) },
  },
])("$name", ({ listing, described, isClaimed = nobody, found }) => {
  expect(explainAttempt(listing, desired, { id: attempt, described }, isClaimed)).toEqual(found);
});

test.each<{ name: string; listing: readonly IamServiceAccount[]; found: object }>([
  {
    name: "a free name is free",
    listing: [listed("sa-1", { name: "x" })],
    found: { kind: "Nothing" },
  },
  {
    name: "an account that this object made is its own, though its status was lost",
    listing: [listed("sa-1", { description: ours })],
    found: { kind: "Found", account: listed("sa-1", { description: ours }) },
  },
  {
    name: "an account of an earlier object of the same name is foreign",
    listing: [listed("sa-1", { description: describeAccount("", key, attemptId("u0", "a")) })],
    found: { kind: "Unclear", saIds: ["sa-1"] },
  },
  {
    name: "an account made by hand is foreign",
    listing: [listed("sa-1"), listed("sa-2", { description: "by hand" })],
    found: { kind: "Unclear", saIds: ["sa-1", "sa-2"] },
  },
])("$name", ({ listing, found }) => {
  expect(findExisting(listing, desired)).toEqual(found);
});

test("a marker follows the user's words and names object and attempt", () => {
  expect(ours).toBe(`builds k8s team-a/ci-bot#${attempt}`);
  expect(isOfObject(`${ours} and more`, key, "u1")).toBe(false);
});
