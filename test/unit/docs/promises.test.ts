/** docs/testing.md names tests for each promise of docs/safety.md, and they exist. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { find, read, root } from "./pages.ts";

const page = read("docs/testing.md");
const idsIn = (text: string) => [...text.matchAll(/^\| ([SL]\d+) \|/gm)].map(([, id]) => id);
const rows = [...page.matchAll(/^\| ([SL]\d+) \| (.+) \|$/gm)].map(([, id = "", tests = ""]) => ({
  id,
  tests,
}));
const pathsIn = (text: string) =>
  [...text.matchAll(/`((?:test|tools)\/[\w./-]+)`/g)].map(([, path = ""]) => path);

test("each promise has tests, in the order of the promises", () => {
  const promised = idsIn(read("docs/safety.md"));
  expect(promised.length).toBeGreaterThan(25);
  expect(rows.map(({ id }) => id)).toEqual(promised);
  const unproven = rows.filter(
    ({ tests }) => !tests.startsWith("simulation") && pathsIn(tests).length === 0,
  );
  expect(unproven).toEqual([]);
});

test("the simulation checks the promises that it is said to check", () => {
  const invariants = find("tools/simulation/{invariants.ts,invariants/*.ts}").map(read).join("\n");
  const checked = new Set(
    [...invariants.matchAll(/"((?:[SL]\d+ )+)/g)].flatMap(([, ids = ""]) => ids.trim().split(" ")),
  );
  const claimed = rows.filter(({ tests }) => tests.startsWith("simulation")).map(({ id }) => id);
  expect(claimed.filter((id) => !checked.has(id))).toEqual([]);
});

test("the tests are there", () => {
  expect(pathsIn(page).filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test("each test that is quoted is there", () => {
  const quotes = [
    ...page.matchAll(/"([^"]+)" in `(test\/[\w./-]+)`/g),
    ...page.matchAll(/`((?:test|tools)\/[\w./-]+)`: "([^"]+)"/g),
  ];
  expect(quotes.length).toBeGreaterThan(3);
  for (const [, one = "", other = ""] of quotes) {
    const [path, name] = existsSync(join(root, one)) ? [one, other] : [other, one];
    expect(read(path)).toContain(`"${name}"`);
  }
});
