import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Lang, parse } from "@ast-grep/napi";
import { expect, test } from "vitest";

const src = join(import.meta.dirname, "../../../src");

/** They answer no promise. */
const LIST_METHODS = "[.](map|filter|flatMap|flat|join)$";

/** A promise that is returned without `await` settles while what it uses is being closed. */
const RETURNS = {
  rule: {
    kind: "return_statement",
    has: { kind: "call_expression", not: { has: { field: "function", regex: LIST_METHODS } } },
    inside: {
      kind: "statement_block",
      has: { regex: "^await using " },
      stopBy: {
        any: [{ kind: "arrow_function" }, { kind: "function_declaration" }],
      },
    },
  },
};

function unawaitedReturns(text: string): readonly string[] {
  const found = parse(Lang.TypeScript, text).root().findAll(RETURNS);
  return found.map((node) => node.text().split("\n")[0] ?? "");
}

test("a command closes its resources after its work", () => {
  const files = globSync("**/*.ts", { cwd: src });
  const users = files.filter((file) =>
    readFileSync(join(src, file), "utf8").includes("await using"),
  );
  expect(users.length).toBeGreaterThan(10);
  for (const file of users)
    expect(unawaitedReturns(readFileSync(join(src, file), "utf8")), file).toEqual([]);
});

test("a return without await after await using is found, but not in an inner function", () => {
  const open = "await using session = await openConsole();";
  expect(unawaitedReturns(`async function run() { ${open} return wait(session); }`)).toHaveLength(
    1,
  );
  expect(
    unawaitedReturns(`async function run() { ${open} if (x) { return wait(session); } return 1; }`),
  ).toHaveLength(1);
  expect(
    unawaitedReturns(`async function run() { ${open} return await wait(() => { return x(); }); }`),
  ).toEqual([]);
});
