/** Every test file belongs to exactly one project, or to the chart: none is left out, and none runs twice. */
import { globSync } from "node:fs";
import { join, matchesGlob } from "node:path";
import { expect, test } from "vitest";
import config from "../../vitest.config.ts";

const root = join(import.meta.dirname, "../..");

interface Project {
  readonly test: { readonly name: string; readonly include: string[]; readonly exclude: string[] };
}

test("every test file is in one project", () => {
  const projects = (config.test?.projects ?? []) as readonly Project[];
  const homesOf = (file: string) =>
    projects
      .filter(({ test: { include } }) => include.some((pattern) => matchesGlob(file, pattern)))
      .filter(({ test: { exclude } }) => !exclude.some((pattern) => matchesGlob(file, pattern)))
      .map(({ test: { name } }) => name);
  const files = globSync("{test,tools,scripts,src}/**/*.test.ts", { cwd: root });
  const astray = files
    .filter((file) => !file.includes(".long.") && !file.startsWith("test/chart/"))
    .filter((file) => homesOf(file).length !== 1);
  expect(files.length).toBeGreaterThan(100);
  expect(astray).toEqual([]);
});
