/** The site, built as `npm run docs` does: its links lead to pages and headings that it has. Downloads VitePress once. */
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterAll, expect, test } from "vitest";
import { find, root } from "../unit/docs/pages.ts";

const output = mkdtempSync(join(tmpdir(), "iam-operator-site-"));
afterAll(() => rmSync(output, { recursive: true }));

test("the site has every page, and no link without a target", { timeout: 600_000 }, () => {
  const args = ["site/build.ts", "--outDir", output, "--base", "/base/"];
  execFileSync(process.execPath, args, { cwd: root, stdio: "pipe" });
  const html = new Map(
    globSync("**/*.html", { cwd: output }).map((path) => [
      path,
      readFileSync(join(output, path), "utf8"),
    ]),
  );
  const paths = find("*.md", "docs/**/*.md").map((path) => path.replace(/README\.md$/, "index.md"));
  expect(paths.filter((path) => !html.has(path.replace(/md$/, "html")))).toEqual([]);
  const links = [...html].flatMap(([page, text]) =>
    [...text.matchAll(/<a [^>]*href="([^":]+)"/g)].map(([, link = ""]) => ({ page, link })),
  );
  expect(links.length).toBeGreaterThan(1_000);
  expect(links.filter(({ page, link }) => !hasTarget(html, page, link))).toEqual([]);
});

function hasTarget(html: ReadonlyMap<string, string>, page: string, link: string): boolean {
  const [target = "", anchor] = link.split("#");
  const path =
    target === ""
      ? page
      : posix.relative("/base", posix.resolve("/base", posix.dirname(page), target));
  const text = html.get(target.endsWith("/") ? posix.join(path, "index.html") : path);
  return (
    text !== undefined &&
    (anchor === undefined || text.includes(` id="${decodeURIComponent(anchor)}"`))
  );
}
