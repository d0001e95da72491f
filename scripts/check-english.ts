/** Checks what people read against scripts/english.ts. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeEnglish, linesOf, pageLinesOf, textsOf } from "./english.ts";

const root = join(import.meta.dirname, "..");
const read = (file: string) => readFileSync(join(root, file), "utf8");
const find = (...patterns: string[]) => globSync(patterns, { cwd: root }).toSorted();
const texts = [
  ...find("src/**/*.ts").flatMap((file) => textsOf(file, read(file))),
  ...find("charts/**/*.{yaml,tpl,txt}").flatMap((file) => linesOf(file, read(file))),
  ...find("*.md", "docs/**/*.md").flatMap((file) => pageLinesOf(file, read(file))),
];
for (const complaint of judgeEnglish(texts)) {
  console.log(complaint);
  process.exitCode = 1;
}
