/** docs/logs.md against the code: every line that can be printed is in it, with its fields. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const read = (file: string) => readFileSync(join(root, file), "utf8");

/** What stands for fields in the code without naming them. */
const spread: Readonly<Record<string, readonly string[]>> = {
  "...this.#key": ["namespace", "name"],
  "...parseKey(key)": ["namespace", "name"],
  "...keyOf(object)": ["namespace", "name"],
  "...keyOf(snapshot.object)": ["namespace", "name"],
  "...logged(series)": ["kind", "namespace", "name", "reason", "note"],
  "...changes": ["bound", "unbound"],
  "...result": ["requeueAfterMs"],
  fields: ["err", "durationMs"],
};

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: readonly string[];
}

/** The text up to the parenthesis that closes it, with strings and templates left whole. */
function argumentsAt(text: string, from: number): string {
  let depth = 1;
  for (const { 0: token, index } of text.slice(from).matchAll(/"[^"\n]*"|`[^`]*`|[()[\]{}]/g)) {
    if ("([{".includes(token)) depth += 1;
    if (")]}".includes(token)) depth -= 1;
    if (depth === 0) return text.slice(from, from + index);
  }
  throw new Error(`no end: ${text.slice(from, from + 80)}`);
}

/** Parts between the commas that are in no bracket. */
function parts(text: string): readonly string[] {
  const cuts: string[] = [""];
  let depth = 0;
  for (const [token] of text.matchAll(/"[^"\n]*"|`[^`]*`|[^"`]/g)) {
    if ("([{".includes(token)) depth += 1;
    if (")]}".includes(token)) depth -= 1;
    if (token === "," && depth === 0) cuts.push("");
    else cuts[cuts.length - 1] += token;
  }
  return cuts.map((part) => part.trim()).filter((part) => part !== "");
}

function fieldsOf(argument: string): readonly string[] {
  const inner = /^\{([\s\S]*)\}$/.exec(argument)?.[1];
  const named = inner === undefined ? [argument] : parts(inner);
  return named.flatMap((part) => spread[part] ?? part.replace(/:[\s\S]*$/, "")).toSorted();
}

function linesIn(code: string): readonly Line[] {
  return [...code.matchAll(/\blog\.(debug|info|warn|error)\(/g)].map((call) => {
    const given = parts(argumentsAt(code, call.index + call[0].length));
    const message = /^"(.*)"$/.exec(given[1] ?? "")?.[1];
    if (message === undefined) throw new Error(`no constant message: ${given.join(", ")}`);
    return { level: call[1] ?? "", message, fields: fieldsOf(given[0] ?? "") };
  });
}

const written = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts") && file !== "observability/logger.ts")
  .flatMap((file) => linesIn(read(join("src", file))));

const rows = read("docs/logs.md")
  .split("\n")
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .filter(({ length }) => length > 3);
const named = (cell = "") =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name).toSorted();

const text = ({ level, message, fields }: Line) => `${level} ${message} (${fields.join(", ")})`;

test("every line of the program is documented with its fields, and no other", () => {
  const documented = rows
    .filter(([, level = ""]) => /^(debug|info|warn|error)$/.test(level))
    .map(([, level = "", message = "", fields]) => ({ level, message, fields: named(fields) }));
  expect(documented.map(text).toSorted()).toEqual(written.map(text).toSorted());
});

test("every field is explained, and no other", () => {
  const runs = /function runFields[\s\S]*?return \{([^}]*)\}/.exec(read("src/runtime/runner.ts"));
  const used = [...written.flatMap(({ fields }) => fields), ...parts(runs?.[1] ?? "")];
  const explained = rows
    .filter(([, field = ""]) => /^`\w+`(, `\w+`)*$/.test(field))
    .flatMap(([, field]) => named(field));
  const everyLine = ["level", "time", "msg"];
  expect(explained.toSorted()).toEqual([...new Set([...used, ...everyLine])].toSorted());
});
