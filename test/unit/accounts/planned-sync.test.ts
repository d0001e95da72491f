import { expect, test } from "vitest";
import { plannedSync } from "../../../src/accounts/planned-sync.ts";
import type { IamReader } from "../../../src/console/client/reader.ts";
import { IamError, type IamErrorCode } from "../../../src/console/errors.ts";
import type { IamPolicy } from "../../../src/console/model.ts";

type Answer<T> = T | IamErrorCode;

interface Given {
  readonly policyIds: readonly string[];
  readonly bound?: Answer<object>;
  readonly policies?: readonly IamPolicy[] | undefined;
}

const answer = async <T>(of: Answer<T>): Promise<T> => {
  if (typeof of === "string") throw new IamError(of as IamErrorCode, "no", { operation: "read" });
  return of;
};

function plan({ policyIds, bound = readable("a"), policies }: Given) {
  const console = { listBindings: () => answer(bound) } as unknown as IamReader;
  const { signal } = new AbortController();
  return plannedSync({ tpn: "tpn:1", policyIds }, policies, console, signal);
}

const readable = (...policyIds: string[]) => ({ readable: true, policyIds });
const named = [{ policyId: "a" }, { policyId: "b", name: "Bee" }];
const unreadable = "Unbinds everything else; the bound policies cannot be read.";

test.each<[string, Given, string]>([
  [
    "policies to bind and to unbind",
    { policyIds: ["b"], policies: named },
    "Binds b (Bee). Unbinds a.",
  ],
  ["policies to bind", { policyIds: ["a", "b"], policies: named }, "Binds b (Bee)."],
  ["policies to unbind", { policyIds: [] }, "Unbinds a."],
  ["that nothing changes", { policyIds: ["a"] }, "Submits the already bound policies."],
  ["only IDs, if policies cannot be listed", { policyIds: ["b"] }, "Binds b. Unbinds a."],
  [
    "that bindings are unreadable",
    { policyIds: ["a"], bound: { readable: false } },
    `Binds a. ${unreadable}`,
  ],
  [
    "that they may not be read",
    { policyIds: ["a"], bound: "PermissionDenied" },
    `Binds a. ${unreadable}`,
  ],
  ["that they were not found", { policyIds: ["a"], bound: "NotFound" }, `Binds a. ${unreadable}`],
])("a plan names %s", async (_, given, message) => {
  expect((await plan(given)).message).toBe(message);
});

test("there is no plan if the console does not answer", async () => {
  const failed = plan({ policyIds: ["a"], bound: "Unavailable" });
  await expect(failed).rejects.toMatchObject({ code: "Unavailable" });
});
