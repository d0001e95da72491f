import { expect, test } from "vitest";
import { plannedSync } from "../../../src/accounts/planned-sync.ts";
import type { IamReader } from "../../../src/console/client/reader.ts";

test("a plan names the policies that the console does not list", async () => {
  const console = {
    listBindings: async () => ({ readable: true, policyIds: ["a"] }),
    listPolicies: async () => [{ policyId: "b", name: "Bee" }],
  } as unknown as IamReader;
  const bindings = { tpn: "tpn:1", orgId: "org-1", policyIds: ["b", "x"] };
  const { message } = await plannedSync(bindings, console, new AbortController().signal);
  expect(message).toBe(
    "Binds b (Bee), x. Unbinds a. The console does not list x among the organization's policies.",
  );
});
