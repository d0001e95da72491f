import { expect, test } from "vitest";
import { compileJsonPath } from "../../../src/kubectl-iam/view/json-path.ts";

const value = {
  items: [
    { object: "iamsa/a", ready: "True", metadata: { labels: { "x.io/team": "one" } } },
    { object: "iamkey/b", ready: "False", count: 3 },
  ],
};

// As kubectl prints them.
test.each([
  ["{.items[*].object}", "iamsa/a iamkey/b"],
  [".items[0].object", "iamsa/a"],
  ["{.items[1]['count']}", "3"],
  ["{.items[0].metadata.labels.x\\.io/team}", "one"],
  ['{range .items[*]}{.object}{"\\t"}{.ready}{"\\n"}{end}', "iamsa/a\tTrue\niamkey/b\tFalse\n"],
  ['{.items[?(@.ready=="False")].object}', "iamkey/b"],
  ['{.items[?(@.ready!="False")].object}', "iamsa/a"],
  ["ready: {$.items[1].ready}", "ready: False"],
  ["{.nothing.here}", ""],
  ["{.items[1]}", '{"object":"iamkey/b","ready":"False","count":3}'],
])("%s", (template, text) => expect(compileJsonPath(template)(value)).toBe(text));

test.each(["{range .items[*]}{.object}", "{.items[", "{end}", "{.items[?(@.a<3)]}"])(
  "%s is refused",
  (template) =>
    expect(() => compileJsonPath(template)(value)).toThrow(/cannot be read as JSONPath/),
);
