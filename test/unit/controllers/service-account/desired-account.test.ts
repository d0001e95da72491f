import { describe, expect, test } from "vitest";
import { desiredAccount } from "../../../../src/controllers/service-account/rules/desired-account.ts";
import { serviceAccount, snapshotOf } from "./objects.ts";

function nameOf(namespace: string, name: string, spec: object = {}): string {
  const object = serviceAccount({ metadata: { namespace, name } });
  return desiredAccount(snapshotOf({ object }, spec)).name;
}

const namespace = "n".repeat(63);
const cut = `${namespace}-${"o".repeat(47)}`;

describe("an account whose spec gives no name", () => {
  test.each([
    ["namespace and object", "team-a", "ci-bot", "team-a-ci-bot"],
    ["dots as they are", "team-a", "ci.bot", "team-a-ci.bot"],
    ["128 characters in full", namespace, "o".repeat(64), `${namespace}-${"o".repeat(64)}`],
    ["one character more cut, with a hash", namespace, "o".repeat(65), `${cut}-9f3b605464e89e1b`],
    ["the longest name in the same way", namespace, "o".repeat(253), `${cut}-2e21c4b5854be236`],
  ])("is named by %s", (_, where, name, expected) => {
    expect(nameOf(where, name)).toBe(expected);
    expect(nameOf(where, name).length).toBeLessThanOrEqual(128);
  });

  const long = "o".repeat(100);

  type Name = readonly [namespace: string, name: string];
  test.each<[string, Name, Name]>([
    ["another namespace", ["team-a", "ci-bot"], ["team-b", "ci-bot"]],
    ["another end, if both are cut", [namespace, `${long}-1`], [namespace, `${long}-2`]],
    [
      "another namespace and the same text",
      ["a-b", `c-${long}${long}`],
      ["a", `b-c-${long}${long}`],
    ],
  ])("differs from one with %s", (_, one, other) => {
    expect(nameOf(...one)).not.toBe(nameOf(...other));
  });

  test("has no escaped hyphens: two objects may come to one name, as they may by spec.name", () => {
    expect(nameOf("a-b", "c")).toBe("a-b-c");
    expect(nameOf("a", "b-c")).toBe("a-b-c");
  });
});

test("a name in the spec is taken as it is", () => {
  expect(nameOf("team-a", "ci-bot", { name: "robot" })).toBe("robot");
});
