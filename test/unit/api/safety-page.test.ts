/** The tests that the pages about promises and threats quote exist. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = ["testing", "threat-model"].map((name) => read(`docs/${name}.md`)).join("\n");

test("every test that it quotes is there", () => {
  const quotes = [
    ...page.matchAll(/"([^"]+)" in `(test\/[\w./-]+)`/g),
    ...page.matchAll(/`(test\/[\w./-]+)`: "([^"]+)"/g),
  ];
  expect(quotes.length).toBeGreaterThan(1);
  for (const [, one = "", other = ""] of quotes) {
    const [path, name] = one.startsWith("test/") ? [one, other] : [other, one];
    expect(read(path)).toContain(`"${name}"`);
  }
});
