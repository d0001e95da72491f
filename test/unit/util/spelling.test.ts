import { expect, test } from "vitest";
import { isSpelledLike, otherSpellings } from "../../../src/util/spelling.ts";

test.each([
  ["CI-Bot", "ci-bot ", true],
  ["ﬁnance", "finance", true],
  ["ci-bot", "ci_bot", false],
])("%j is spelled like %j: %s", (one, other, expected) => {
  expect(isSpelledLike(one, other)).toBe(expected);
});

test.each<[string, listed: string, submitted: string, expected: object, exact?: string]>([
  ["the same spelling", "a b", "a b", {}],
  ["another spelling", "A b", "a b", { A: "a" }],
  ["nothing submitted is alike", "A b", "b c", {}],
  ["two that differ only in case are both listed", "a A", "a", {}],
  ["two listed ones could be it", "PoL POL", "pol", {}],
  ["it could be two submitted ones", "POL", "pol Pol", {}],
  ["it stands for itself", "POL", "pol", {}, "POL"],
])("%s", (_, listed, submitted, expected, exact = "") => {
  const [seen = [], sent = [], known] = [listed, submitted, exact].map((text) => text.split(" "));
  expect(Object.fromEntries(otherSpellings(seen, sent, known))).toEqual(expected);
});
