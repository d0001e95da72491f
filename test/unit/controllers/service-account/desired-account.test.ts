import { describe, expect, test } from "vitest";
import { desiredAccount } from "../../../../src/controllers/service-account/rules/desired-account.ts";
import { serviceAccount, snapshotOf } from "./objects.ts";

function nameOf(namespace: string, name: string, spec: object = {}): string {
  const object = serviceAccount({ metadata: { namespace, name } });
  return desiredAccount(snapshotOf({ object }, spec)).name;
}

const namespace = "n".repeat(63);

describe("an account whose spec gives no name", () => {
  test.each([
    { name: "namespace and object", of: ["team-a", "ci-bot"], is: "team-a-ci-bot" },
    { name: "dots as they are", of: ["team-a", "ci.bot"], is: "team-a-ci.bot" },
    {
      name: "128 characters in full",
      of: [namespace, "o".repeat(64)],
      is: `${namespace}-${"o".repeat(64)}`,
    },
    {
      name: "one character more cut, with a hash",
      of: [namespace, "o".repeat(65)],
      is: `${namespace}-${"o".repeat(47)}-9f3b605464e89e1b`,
    },
    {
      name: "the longest name there is the same way",
      of: [namespace, "o".repeat(253)],
      is: `${namespace}-${"o".repeat(47)}-2e21c4b5854be236`,
    },
  ] as const)("is named by $name", ({ of: [where, name], is }) => {
    expect(nameOf(where, name)).toBe(is);
    expect(nameOf(where, name).length).toBeLessThanOrEqual(128);
  });

  const long = "o".repeat(100);

  test.each([
    { name: "another namespace", one: ["team-a", "ci-bot"], other: ["team-b", "ci-bot"] },
    {
      name: "another end, where both are cut",
      one: [namespace, `${long}-1`],
      other: [namespace, `${long}-2`],
    },
    {
      name: "another namespace and the same text, where both are cut",
      one: ["a-b", `c-${"o".repeat(150)}`],
      other: ["a", `b-c-${"o".repeat(150)}`],
    },
  ] as const)("differs from one with $name", ({ one, other }) => {
    expect(nameOf(one[0], one[1])).not.toBe(nameOf(other[0], other[1]));
  });

  test("has no escaped hyphens: two objects may come to one name, as they may by spec.name", () => {
    expect(nameOf("a-b", "c")).toBe("a-b-c");
    expect(nameOf("a", "b-c")).toBe("a-b-c");
  });
});

test("a name in the spec is taken as it is", () => {
  expect(nameOf("team-a", "ci-bot", { name: "robot" })).toBe("robot");
});
