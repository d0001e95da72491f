import { expect, test } from "vitest";
import { boundToOtherConsole } from "../../../src/accounts/other-console.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";

const found = (consoleURL?: string) =>
  ({
    metadata: { name: "ci" },
    status: { saId: "sa-1", ...(consoleURL === undefined ? {} : { consoleURL }) },
  }) as ServiceAccount;
const connection = { baseURL: "https://console.example.com/iam" };

test("an account of another console is not used, and both are named", () => {
  expect(boundToOtherConsole(found("https://fake.example.com"), connection)).toBe(
    "ServiceAccount ci was found at https://fake.example.com, and its connection leads to https://console.example.com now; it has to be found there first.",
  );
});

test.each(["https://console.example.com", undefined])("one that was found at %s is", (url) => {
  expect(boundToOtherConsole(found(url), connection)).toBeUndefined();
});
