/** What faults end on purpose is told to users. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const text = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const section =
  /## What ends a promise\n[\s\S]*?\n## /.exec(text("../../docs/testing.md"))?.[0] ?? "";

test("docs/testing.md names every promise that the simulation excuses", () => {
  const excused = [...text("run-plan.ts").matchAll(/"([SL]\d+) /g)].map(([, promise]) => promise);
  expect(new Set(excused).size).toBeGreaterThan(5);
  const missing = excused.filter((promise = "") => !new RegExp(`\\b${promise}\\b`).test(section));
  expect(missing).toEqual([]);
});
