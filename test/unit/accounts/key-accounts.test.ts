/** The ServiceAccounts that an ApiKey has to do with: for indexes, watches and the deletion of accounts. */
import { describe, expect, test } from "vitest";
import {
  accountIndex,
  attemptAccount,
  movesTo,
  useOf,
} from "../../../src/accounts/key-accounts.ts";
import { accountInUse } from "../../../src/api/account-in-use.ts";
import type { ApiKeyStatus } from "../../../src/api/api-key.ts";
import { object } from "../kinds/api-key/builders.ts";

const apiKey = (status: object = {}) => object(status as ApiKeyStatus);
const of = (serviceAccount: string) => ({ keyId: "sak_1", serviceAccount });
const former = (state: string) => ({ superseded: [{ ...of("former"), state }] });

describe("an ApiKey is indexed by the account of its spec", () => {
  test.each([
    ["its key in use", { current: of("former") }],
    ["its pending key", { pending: of("former") }],
    ["its open attempt", { attempt: of("former") }],
    ["a superseded key", { superseded: [of("bot"), of("former")] }],
    ["an orphaned key", { orphaned: [of("former")] }],
  ])("and by that of %s", (_, status) => {
    expect(accountIndex(apiKey(status))).toEqual(["team-a/bot", "team-a/former"]);
  });

  test("and by nothing else", () => {
    expect(accountIndex(apiKey({ current: of("bot") }))).toEqual(["team-a/bot"]);
    expect(accountIndex({ metadata: apiKey().metadata })).toEqual([]);
  });
});

test("an open attempt issues for the account that it names, or for that of the spec", () => {
  expect(attemptAccount(apiKey())).toBe("bot");
  expect(attemptAccount(apiKey({ attempt: of("former") }))).toBe("former");
  expect(attemptAccount(apiKey({ attempt: { id: "a1" } }))).toBe("bot");
});

test("a key in use of another account moves", () => {
  expect(accountInUse(apiKey())).toBe("bot");
  expect(accountInUse(apiKey({ current: of("former") }))).toBe("former");
  expect(movesTo(apiKey({ current: of("former") }), "bot")).toBe(true);
  expect(movesTo(apiKey({ current: of("former") }), "former")).toBe(false);
  expect(movesTo(apiKey({ current: of("former") }), "third")).toBe(false);
  expect(movesTo(apiKey({ current: of("bot") }), "bot")).toBe(false);
});

test.each([
  ["the spec names it", {}, "bot", "Keys"],
  ["the key in use belongs to it", { current: of("former") }, "former", "MovingKeys"],
  ["an attempt is open for it", { attempt: of("former") }, "former", "MovingKeys"],
  ["a superseded key works", former("Live"), "former", "SupersededKeys"],
  ["a superseded key may work", former("Unknown"), "former", "SupersededKeys"],
  ["a superseded key of another account works", former("Live"), "third", undefined],
  ["the superseded key was deleted", former("Deleted"), "former", undefined],
  ["the superseded key has expired", former("Expired"), "former", undefined],
  ["only a lost key belongs to it", { orphaned: [of("former")] }, "former", undefined],
])("how an account is used if %s", (_, status, name, expected) => {
  expect(useOf(apiKey(status), name)).toBe(expected);
});
