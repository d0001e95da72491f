import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commandsOf } from "./support/commands.ts";

describe("the commands of a console block", () => {
  test.each<[string, string, readonly string[]]>([
    ["one and its output", "$ a\nb\n", ["$ a"]],
    ["several", "$ a\nb\n$ c\n", ["$ a", "$ c"]],
    ["one over two lines", "$ a \\\n  b\nout\n", ["$ a \\\n  b"]],
    [
      "one over three lines, and the next",
      "$ a \\\n  b \\\n  c\nout\n$ d\n",
      ["$ a \\\n  b \\\n  c", "$ d"],
    ],
  ])("are %s", (_, block, commands) => {
    expect(commandsOf(block)).toEqual(commands);
  });

  test.each([
    ["a command without its second line", "$ a \\\n"],
    ["output before the first command", "out\n$ a\n"],
    ["nothing", ""],
    ["a here-document", "$ cat <<EOF\nEOF\n"],
  ])("are refused: %s", (_, block) => {
    expect(() => commandsOf(block)).toThrow();
  });
});

const folder = join(import.meta.dirname, "../../../docs");
const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
  name.endsWith(".md"),
);

test.each(pages)("every command of %s is whole", (page) => {
  const text = readFileSync(join(folder, page), "utf8");
  for (const [, block = ""] of text.matchAll(/```console\n([\s\S]*?)```/g)) commandsOf(block);
  for (const [, block = ""] of text.matchAll(/```sh\n([\s\S]*?)```/g))
    expect(block.trimEnd()).not.toMatch(/\\$/);
});
