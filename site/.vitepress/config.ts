import { relative } from "node:path";
import { addressOfLink, homepage, root, sidebar, slugify, toIndex, version } from "../pages.ts";

interface Markdown {
  readonly core: { readonly ruler: { push(name: string, rule: (page: Parsed) => void): void } };
}

interface Token {
  readonly children: readonly Token[] | null;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
}

interface Parsed {
  readonly tokens: readonly Token[];
  readonly env: { readonly path: string; readonly realPath?: string };
}

/** VitePress with its own theme, over the pages where they are. */
export default {
  title: "iam-operator",
  srcDir: "..",
  srcExclude: ["{.github,charts,deploy,scripts,site,src,test,tools}/**"],
  outDir: "dist",
  cacheDir: "node_modules/.cache",
  rewrites: toIndex,
  transformHead: ({ siteData }: { siteData: { base: string } }) => [
    ["link", { rel: "icon", href: `${siteData.base}icon.svg` }],
  ],
  markdown: {
    anchor: { slugify },
    config: (markdown: Markdown) => markdown.core.ruler.push("links", resolveLinks),
  },
  vite: { publicDir: `${root}/docs/images`, plugins: [findVue()] },
  themeConfig: {
    logo: "/icon.svg",
    sidebar: sidebar(),
    outline: [2, 3],
    search: { provider: "local" },
    nav: [{ text: `v${version}`, link: `${homepage}/releases` }],
    socialLinks: [{ icon: "github", link: homepage }],
  },
};

function resolveLinks({ tokens, env }: Parsed): void {
  const page = relative(root, env.realPath ?? env.path);
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const link = token.attrGet("href");
    if (link !== null) token.attrSet("href", addressOfLink(page, link));
  }
}

/** The pages are not below the folder with the packages: the rendering program, which is, imports Vue. */
function findVue() {
  return {
    name: "find-vue",
    enforce: "pre",
    resolveId: (id: string, _importer: string, { ssr }: { ssr: boolean }) =>
      ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : null,
  };
}
