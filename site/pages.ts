/** The pages of the site: the repository's own Markdown files, in the order of docs/README.md. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";

export const root = join(import.meta.dirname, "..");
export const { homepage, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

export interface Entry {
  readonly text: string;
  readonly link: string;
  readonly collapsed?: boolean;
  readonly items?: readonly Entry[];
}

export interface Group {
  readonly text: string;
  readonly items: readonly Entry[];
}

/** A group for each row of the table in docs/README.md. A folder's README has the folder's pages below it. */
export function sidebar(): readonly Group[] {
  return read("docs/README.md")
    .split("\n")
    .filter((line) => line.startsWith("|") && line.includes("]("))
    .map((row) => ({
      text: toTitle(row.split("|")[1]?.trim() ?? ""),
      items: entries(row, "docs/README.md").map(withFolder),
    }));
}

function withFolder(entry: Entry): Entry {
  const folder = /^\/(.+)\/index\.md$/.exec(entry.link)?.[1];
  if (folder === undefined) return entry;
  const readme = `${folder}/README.md`;
  const items = entries(read(readme), readme).filter(({ link }) => link.startsWith(`/${folder}/`));
  return { ...entry, collapsed: true, items };
}

function entries(text: string, page: string): readonly Entry[] {
  const links = text.matchAll(/\[([^\]]+)\]\(([^):#]+\.md)\)/g);
  return [...links].map(([, title = "", target = ""]) => ({
    text: toTitle(title),
    link: `/${toIndex(resolve(page, target))}`,
  }));
}

/** Where a link of a page leads: to the site, or to the repository at the tag of this version. Throws if it is dead. */
export function addressOfLink(page: string, link: string): string {
  if (/^([a-z]+:|#)/.test(link)) return link;
  const [target = "", anchor] = link.split("#");
  const path = resolve(page, target);
  if (!existsSync(join(root, path))) throw new Error(`${page}: dead link ${link}`);
  const address = isPage(path) ? `/${toIndex(path)}` : `${homepage}/blob/v${version}/${path}`;
  return anchor === undefined ? address : `${address}#${anchor}`;
}

/** A README is the first page of its folder. */
export const toIndex = (path: string) => path.replace(/(^|\/)README\.md$/, "$1index.md");

/** As on GitHub, so that a link to a heading works in both places. */
export const slugify = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\s-]/gu, "")
    .replaceAll(" ", "-");

const isPage = (path: string) => /^(docs\/.+|[A-Z_]+)\.md$/.test(path);
const resolve = (page: string, target: string) => posix.join(dirname(page), target);
const read = (path: string) => readFileSync(join(root, path), "utf8");
const toTitle = (text: string) =>
  text.replaceAll("`", "").replace(/^(?!kubectl)./, (letter) => letter.toUpperCase());
