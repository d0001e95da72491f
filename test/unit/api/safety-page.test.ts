/** docs/safety.md names tests, commands, metrics and events: all of them exist. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/safety.md");
const found = (pattern: RegExp) => [...page.matchAll(pattern)].map(([, word = ""]) => word);

test("every file it names is there", () => {
  const files = found(/`(test\/[\w./-]+)`/g);
  expect(files.length).toBeGreaterThan(15);
  expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

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

test("every command is there", () => {
  const { scripts } = JSON.parse(read("package.json"));
  expect(found(/`npm run ([\w:]+)/g).filter((name) => !(name in scripts))).toEqual([]);
});

test("every metric, event and alert is there", () => {
  const sources = [
    ...globSync("src/**/*.ts", { cwd: root }),
    "charts/iam-operator/templates/prometheus-rule.yaml",
  ]
    .map(read)
    .join("\n");
  const names = [
    ...found(/`(iam_operator_\w+)`/g),
    ...found(/[Ee]vents? `(\w+)`/g),
    ...found(/alert `(\w+)`/g),
  ];
  expect(names.length).toBeGreaterThan(6);
  expect(names.filter((name) => !sources.includes(name))).toEqual([]);
});
