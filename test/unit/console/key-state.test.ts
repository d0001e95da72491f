import { expect, test } from "vitest";
import { readKeyState } from "../../../src/console/wire/key-state.ts";

test.each([
  ["active", "Active"],
  ["ACTIVE", "Active"],
  ["enabled", "Active"],
  ["inactive", "Inactive"],
  ["expired", "Inactive"],
  [" Expired ", "Inactive"],
  ["disabled", "Inactive"],
  ["revoked", "Inactive"],
  ["deleted", "Inactive"],
  ["locked", undefined],
  ["", undefined],
])("a key with the status %j is %s", (status, expected) => {
  expect(readKeyState(status)).toBe(expected);
});
