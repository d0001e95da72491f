/** What a plan says, and what it can do. */
import { expect, test } from "vitest";
import type { PlannedCall } from "../../../src/api/plan.ts";
import { toIamReader } from "../../../src/console/client/reader.ts";
import { documentedCalls, endpoints } from "../../../src/console/endpoints.ts";
import { toKubeReader } from "../../../src/kube/client/reader.ts";
import { withLine } from "../../../src/reconciler/plan/lines.ts";

const line = (call: string, object = "team-a/x"): PlannedCall => ({ call, object, message: "" });
const write = line("writeSecret");
const remove = line("deleteSecret");
const other = line("deleteSecret", "team-a/y");
const issue = line("issueKey");

test.each<[string, readonly (PlannedCall | undefined)[], readonly PlannedCall[]]>([
  ["each call has its line", [issue, write], [issue, write]],
  ["a step without a call has none", [issue, undefined], [issue]],
  ["a Secret that is written twice has one", [write, issue, write], [write, issue]],
  ["a Secret that is written and deleted has none", [write, issue, remove], [issue]],
  ["another Secret that is deleted has its own", [write, other], [write, other]],
  ["a Secret that was there is deleted", [remove], [remove]],
])("%s", (_, calls, lines) => {
  expect(calls.reduce<readonly PlannedCall[]>(withLine, [])).toEqual(lines);
});

test("a plan can only read", () => {
  const client = Object.fromEntries(documentedCalls.map((name) => [name, () => undefined]));
  const calls = documentedCalls.filter((name) => name in toIamReader(client as never));
  expect(calls.filter((name) => endpoints[name].isMutating)).toEqual([]);
  expect(calls).toContain("searchActions");
  expect(Object.keys(toKubeReader({} as never))).toEqual(["get", "list", "collect"]);
});
