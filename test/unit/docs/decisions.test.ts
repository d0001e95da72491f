import { expect, test } from "vitest";
import { read } from "./pages.ts";

test("an entry of docs/decisions.md has at most 85 words", () => {
  const entries = read("docs/decisions.md")
    .split(/^#+ /m)
    .slice(1)
    .map((entry) => ({
      title: entry.split("\n", 1)[0],
      words: entry
        .slice(entry.indexOf("\n"))
        .replaceAll(/\(\d{4}-\d{2}-\d{2}[^)]*\)/g, "")
        .trim()
        .split(/\s+/).length,
    }));
  expect(entries.length).toBeGreaterThan(40);
  expect(entries.filter(({ words }) => words > 85)).toEqual([]);
});
