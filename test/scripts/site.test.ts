/** The site has every page, and every link leads somewhere; site.long.test.ts builds it. */
import { expect, test } from "vitest";
import {
  addressOfLink,
  type Entry,
  homepage,
  sidebar,
  slugify,
  toIndex,
  version,
} from "../../site/pages.ts";
import { anchorsOf, find, pages } from "../unit/docs/pages.ts";

const linksOf = ({ link, items = [] }: Entry): readonly string[] => [
  link,
  ...items.flatMap(linksOf),
];

test("every page of docs/ is in the sidebar, under a group with a name", () => {
  const groups = sidebar();
  expect(groups.length).toBeGreaterThan(5);
  for (const { text } of groups) expect(text).toMatch(/^[A-Z][a-z]/);
  const listed = groups.flatMap(({ items }) => items.flatMap(linksOf));
  const wanted = find("docs/**/*.md").filter((path) => path !== "docs/README.md");
  expect(wanted.filter((path) => !listed.includes(`/${toIndex(path)}`))).toEqual([]);
});

test.each([
  ["README.md", "docs/faq.md", "/docs/faq.md"],
  ["docs/faq.md", "kubectl-iam/README.md#install", "/docs/kubectl-iam/index.md#install"],
  ["docs/reference/README.md", "../../SECURITY.md", "/SECURITY.md"],
  [
    "docs/gitops.md",
    "../deploy/argocd/health.lua",
    `${homepage}/blob/v${version}/deploy/argocd/health.lua`,
  ],
  ["docs/faq.md", "https://example.com/a.md", "https://example.com/a.md"],
  ["docs/faq.md", "#install", "#install"],
])("a link of %s to %s leads to %s", (page, link, address) => {
  expect(addressOfLink(page, link)).toBe(address);
});

test("a dead link fails the build", () => {
  expect(() => addressOfLink("docs/faq.md", "nothing.md")).toThrow(
    "docs/faq.md: dead link nothing.md",
  );
});

test("a heading has the same anchor as on GitHub", () => {
  const headings = pages
    .flatMap(({ text }) => [...text.matchAll(/^#+ ([^[\]\n]+)$/gm)])
    .map(([, title = ""]) => title);
  expect(headings.length).toBeGreaterThan(100);
  for (const heading of headings) expect(anchorsOf(`# ${heading}`)).toEqual([slugify(heading)]);
});
