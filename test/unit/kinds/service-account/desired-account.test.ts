import { describe, expect, test } from "vitest";
import {
  desiredAccount,
  expectedAccount,
} from "../../../../src/kinds/service-account/rules/desired-account.ts";
import { connectionSpec } from "../connection/specs.ts";
import { access, account, accountName, NOW, serviceAccount, snapshotOf } from "./objects.ts";

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

describe("the prefix of a connection", () => {
  const accountNamePrefix = "blue-";
  const prefixed = {
    connection: { ok: true, access: { ...access, spec: { ...access.spec, accountNamePrefix } } },
  } as const;
  const attempt = { id: "a", startTime: NOW, name: undefined, described: undefined };
  const nameIn = (changes: object, spec: object = {}) =>
    desiredAccount(snapshotOf({ ...prefixed, ...changes }, spec)).name;

  test("begins the name of a new account", () => {
    expect(nameIn({})).toBe(`blue-${accountName}`);
    const object = serviceAccount({ metadata: { namespace, name: "o".repeat(60) } });
    const cutName = nameIn({ object });
    expect(cutName).toMatch(/^blue-n{63}-o{42}-[0-9a-f]{16}$/);
    expect(cutName.length).toBe(128);
  });

  test("is not for a name in the spec", () => {
    expect(nameIn({}, { name: "robot" })).toBe("robot");
  });

  test("does not change the name of an account, nor of one that an attempt may have created", () => {
    expect(nameIn({ account: { ...account, name: "green-bot" } })).toBe("green-bot");
    expect(nameIn({ attempt: { ...attempt, name: "green-bot" } })).toBe("green-bot");
    // Statuses from before there were prefixes.
    expect(nameIn({ account: { ...account, name: undefined } })).toBe(accountName);
    expect(nameIn({ attempt })).toBe(accountName);
  });
});

test.each([
  ["Created", accountName, "prj-1", "prj-1"],
  ["Imported", undefined, "prj-1", "prj-1"],
  ["Imported", undefined, undefined, undefined],
] as const)(
  "an account that is %s has the name %s and, in project %s, the project %s",
  (origin, name, asked, projectId) => {
    const spec = connectionSpec({ projectId: asked });
    const snapshot = snapshotOf({ connection: { ok: true, access: { ...access, spec } } });
    expect(expectedAccount(snapshot, origin)).toMatchObject({ name, projectId });
  },
);

test("a name in the spec is taken as it is", () => {
  expect(nameOf("team-a", "ci-bot", { name: "robot" })).toBe("robot");
});
