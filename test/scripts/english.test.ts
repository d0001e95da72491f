import { expect, test } from "vitest";
import { judgeEnglish, linesOf, pageLinesOf, RULES, textsOf } from "../../scripts/english.ts";

const judge = (source: string, exceptions = {}) =>
  judgeEnglish(textsOf("a.ts", source), exceptions);

test.each([
  ["a message", 'const a = "ca.crt is no PEM";', /^a.ts:1 "is no"/],
  ["a template", "const a = `the key ${id} is no PEM`;", /^a.ts:1 "is no"/],
  ["a comment", "\n// Call 5, once.", /^a.ts:2 "Call 5"/],
  ["a comment over two lines", "/**\n * Logs in at the\n * console.\n */", /"at the console"/],
  ["capitals", 'const a = "Nobody can tell.";', /"Nobody"/],
  ["what", 'const a = "Keys: k. Delete them first.";', /"\. Delete them": write the noun/],
  ["these", 'const a = "Keys: k. Delete these keys.";', /"\. Delete these": write the noun/],
  ["which", "const a = `Remove it from ${b}.`;", /"`Remove it": write the noun/],
])("%s is found", (_, source, complaint) => {
  expect(judge(source)).toEqual([expect.stringMatching(complaint)]);
});

test.each([
  ["is no longer", 'const a = "the key is no longer listed";'],
  ["a name", 'const a: Identity = "nobody";'],
  ["code in a template", "const a = `${rights.length} permissions are granted`;"],
  ["an instruction that names its object", 'const a = "There are keys. Delete the key k.";'],
  ["an identifier", "const nobody = whoever(shall);"],
])("%s is not", (_, source) => {
  expect(judge(source)).toEqual([]);
});

test("a line of the chart counts as a message", () => {
  const texts = linesOf("values.yaml", "# -- Fine.\n# For whoever scrapes.");
  expect(judgeEnglish(texts, {})).toEqual([expect.stringMatching(/^values.yaml:2 "whoever"/)]);
});

test.each([
  ["a rule of messages", "Keys at the console.", '"at the console"'],
  ["a condition", "It waits, where the console lists none.", '", where the"'],
  ["an order", "Each object has to exist.", '"has to"'],
  ["the noun", "Each Pod has a folder of its own.", '"of its own"'],
])("%s is found in a page", (_, line, found) => {
  expect(judgeEnglish(pageLinesOf("a.md", `# A\n${line}`), {})).toEqual([
    expect.stringContaining(`a.md:2 ${found}`),
  ]);
  expect(judgeEnglish(linesOf("values.yaml", "# The file has to exist."), {})).toEqual([]);
});

test("code and targets of links are not text of a page", () => {
  const page = "`nobody`\n```sh\necho nobody\n```\n[a link](nobody.md#whoever)";
  expect(judgeEnglish(pageLinesOf("a.md", page), {})).toEqual([]);
});

test("an exception permits a text, and must be needed", () => {
  const source = 'const a = "a file that is no file";';
  expect(judge(source, { "is no file": "a quotation" })).toEqual([]);
  expect(judge("", { "is no file": "a quotation" })).toEqual([
    expect.stringContaining('nothing needs the exception "is no file"'),
  ]);
});

test("every rule says what to write instead", () => {
  expect(RULES.filter(({ instead }) => instead === "")).toEqual([]);
});
