import { expect, test } from "vitest";
import { read } from "./pages.ts";

test("docs/concepts.md lists every reason for which a key is replaced, and no other", () => {
  const [, section = ""] =
    /## When is a key replaced\?\n([\s\S]*?)\n## /.exec(read("docs/concepts.md")) ?? [];
  const listed = [...section.matchAll(/^\| (`.*`) \|/gm)].flatMap(([, cell = ""]) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, reason]) => reason),
  );
  const source = read("src/kinds/api-key/rules/needs.ts");
  const given = [
    ...source.matchAll(/^\s*(?:return \{ )?reason: "(\w+)"/gm),
    ...source.matchAll(/ROTATION_REQUESTED = "(\w+)"/g),
  ].map(([, reason]) => reason);
  expect(given.length).toBeGreaterThan(8);
  expect(listed.toSorted()).toEqual(given.toSorted());
});
