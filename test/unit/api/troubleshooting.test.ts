/** docs/troubleshooting.md has an entry for whatever reason an object may give, and for no other. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { conditionHelp } from "../../../src/api/reasons.ts";

const root = join(import.meta.dirname, "../../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const page = read("docs/troubleshooting.md");
const sources = globSync("src/**/*.ts", { cwd: root }).map(read).join("\n");
const controllers = globSync("src/controllers/**/*.ts", { cwd: root }).map(read).join("\n");

const found = (pattern: RegExp, text: string) =>
  [...text.matchAll(pattern)].map(([, word = ""]) => word);

const headings = found(/^### (\w+)$/gm, page);
/** Those that need nothing are in a table. */
const listed = found(/^\| (`.*`) \|/gm, page).flatMap((cell) => found(/`(\w+)`/g, cell));

test("every reason that calls for a person has its section", () => {
  const helped = Object.values(conditionHelp).flatMap((kinds) =>
    kinds.flatMap(({ reasons }) => Object.keys(reasons)),
  );
  expect(helped.filter((reason) => !headings.includes(reason))).toEqual([]);
});

test("every code of a failed call has its section", () => {
  const codes = ["src/iam/errors.ts", "src/kube/errors.ts"].flatMap((path) =>
    found(/^ {2}\| "(\w+)"/gm, read(path)),
  );
  expect(codes.length).toBeGreaterThan(20);
  expect([...new Set(codes)].filter((code) => !headings.includes(code))).toEqual([]);
});

test("every reason that the controllers give is there", () => {
  const given = [
    ...found(/reason: "([A-Z]\w+)"/g, controllers),
    ...found(/new SpecError\(\s*"(\w+)"/g, controllers),
  ];
  expect(given.length).toBeGreaterThan(50);
  const known = [...headings, ...listed];
  expect([...new Set(given)].filter((reason) => !known.includes(reason))).toEqual([]);
});

test("no section is about a reason that nobody gives, and none is there twice", () => {
  const all = [...headings, ...listed];
  expect(all.filter((reason) => !new RegExp(`\\b${reason}\\b`).test(sources))).toEqual([]);
  expect(new Set(all).size).toBe(all.length);
});

test("every link within the page and to its neighbours leads somewhere", () => {
  const anchors = (text: string) =>
    found(/^#+ (.+)$/gm, text).map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, "")
        .replaceAll(" ", "-"),
    );
  for (const [, path = "", anchor] of page.matchAll(/\]\(([^)#]*)(?:#([^)]*))?\)/g)) {
    const target = path === "" ? page : read(join("docs", path));
    if (anchor !== undefined) expect(anchors(target), `${path}#${anchor}`).toContain(anchor);
  }
});
