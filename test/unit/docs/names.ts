/** The names that pages give in backticks, against the sources that define them. */
import { existsSync } from "node:fs";
import { basename, join, matchesGlob } from "node:path";
import { isMap, isScalar, parseDocument } from "yaml";
import { objectSchema } from "../../../src/api/crd.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { readCommand } from "../../../src/app/config.ts";
import { commands } from "../../../src/kubectl-iam/cli/commands.ts";
import { options } from "../../../src/kubectl-iam/cli/options.ts";
import { blocksOf, find, type Page, pages, read, root, spansOf } from "./pages.ts";

/** Names of other programs and of Kubernetes, and words in backticks that are values of a field. */
const OUTSIDE = new Set(
  `--wait --take-ownership --force-conflicts --reset-then-reuse-values --platform --build-arg --api-versions
  --field-selector --set --server-side --prefix --tail --previous --dry-run
  metadata.managedFields nsswitch.conf kubernetes.io example.com http.request.method server.address
  http.response.status_code url.path error.type service.name k8s.namespace.name
  StatefulSet DaemonSet NotIn DoesNotExist Opaque Deployment --manifest spec.restartAt tls.crt tls.key
  resources.limits.cpu iam-operator.yaml`.split(/\s+/),
);

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** Every path of a field, such as `spec.grants[].name`, without the brackets. `*` stands for the keys of a map. */
function fieldsOf(schema: Schema, path: string): readonly string[] {
  const { properties = {}, items, additionalProperties } = schema;
  const below = [
    ...Object.entries(properties).flatMap(([name, field]) => fieldsOf(field, `${path}.${name}`)),
    ...(items === undefined ? [] : fieldsOf(items, path)),
    ...(typeof additionalProperties === "object"
      ? fieldsOf(additionalProperties, `${path}.*`)
      : []),
    ...(schema["x-kubernetes-preserve-unknown-fields"] === true ? [`${path}.*`] : []),
  ];
  return [path, ...below];
}

/** Every path of a value of the chart. A map that is empty by default takes any key. */
function valuesOf(node: unknown, path: string): readonly string[] {
  if (!isMap(node)) return [path];
  const below = node.items.flatMap(({ key, value }) =>
    valuesOf(value, [path, String(isScalar(key) ? key.value : key)].filter(Boolean).join(".")),
  );
  return [path, ...(below.length === 0 ? [`${path}.*`] : below)];
}

const fields = kinds.flatMap((kind) => fieldsOf(objectSchema(kind) as Schema, ""));
const values = valuesOf(parseDocument(read("charts/iam-operator/values.yaml")).contents, "");
const files = find("{src,test,docs,scripts,charts,deploy,crds,tools,.github,.ci}/**", "*", ".*");
const baseNames = new Set(files.map((path) => basename(path)));
const topFolders = new Set(files.map((path) => path.split("/")[0]));

const sources = find("{src,charts}/**/*.{ts,yaml,tpl,txt,json}").map(read).join("\n");
const others = find(
  "{test,tools,scripts,deploy,.ci,.github}/**/*.*",
  "package.json",
  "Dockerfile",
).filter((path) => !path.startsWith("test/unit/docs/"));
const all = [sources, ...others.map(read)].join("\n");
const wordsOf = (text: string) => new Set(text.match(/[\w-]+/g));
const productWords = wordsOf(sources);
const allWords = wordsOf(all);
const blocks = pages.flatMap(({ text }) => blocksOf(text)).join("\n");
const { scripts } = JSON.parse(read("package.json"));

const help = readCommand(["--help"]);
const flags = new Set(
  [...(help.kind === "Help" ? help.text : "").matchAll(/--[a-z][\w-]*/g)].map(([flag]) => flag),
);
for (const option of Object.values(options))
  for (const [flag] of option.flags.matchAll(/--[a-z][\w-]*/g)) {
    flags.add(flag);
    flags.add(flag.replace(/^--/, "--no-"));
  }
const commandNames = new Set(
  commands.map(({ usage }) =>
    usage
      .split(" ")
      .filter((word) => /^[a-z-]+$/.test(word))
      .join(" "),
  ),
);

const matches = (pattern: string, path: string) =>
  new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^.]+(\\..+)?")}$`).test(path);
const bare = (path: string) => path.replaceAll(/\[[^\]]*\]/g, "");

const isField = (path: string) => fields.some((field) => matches(field, `.${bare(path)}`));
/** Part of a field's path, such as `rotation.overlap`. */
const isPartOfField = (path: string) =>
  fields.some((field) => `${field}.`.includes(`.${bare(path)}.`));
const isValue = (path: string) => values.some((value) => matches(value, path));

/** For pages about the project itself, names of the tests and tools count as well. */
const FOR_MAINTAINERS =
  /^(CONTRIBUTING|docs\/(architecture|decisions|development|safety|testing|threat-model|performance|end-to-end|image)\.md|test\/|tools\/|\.github)/;

/** One complaint for each name that nothing defines. */
export function complaintsAbout(page: Page): readonly string[] {
  const words = FOR_MAINTAINERS.test(page.path) ? allWords : productWords;
  const spans = spansOf(page.text).flatMap((span) => unknownIn(span, words));
  const texts = [
    ...namesIn(
      page.text,
      /\biam_operator_\w*[a-z0-9]\b/g,
      "metric",
      (name) =>
        productWords.has(name.replace(/_(bucket|count|sum)$/, "")) || productWords.has(name),
    ),
    ...namesIn(
      page.text,
      /\biam-operator\.io\/[a-z][\w-]*/g,
      "annotation or label",
      (name) => /\/v\d\w*$/.test(name) || productWords.has(name.split("/")[1] ?? ""),
    ),
    ...namesIn(
      page.text,
      /\bIAM_[A-Z_]*[A-Z]\b/g,
      "variable",
      (name) =>
        allWords.has(name) ||
        flags.has(`--${name.replace("IAM_OPERATOR_", "").toLowerCase().replaceAll("_", "-")}`),
    ),
    ...namesIn(page.text, /\bIAM[A-Z][a-z]\w+/g, "alert", (name) => words.has(name)),
  ];
  return [...new Set([...spans, ...texts])].map((complaint) => `${page.path}: ${complaint}`);
}

function namesIn(text: string, pattern: RegExp, what: string, exists: (name: string) => boolean) {
  return [...text.matchAll(pattern)]
    .map(([name]) => name)
    .filter((name) => !exists(name))
    .map((name) => `no ${what} \`${name}\``);
}

function unknownIn(span: string, words: ReadonlySet<string>): readonly string[] {
  const complaints: string[] = [];
  for (const [, flag = ""] of span.matchAll(/(?:^|[\s(])(--[a-z][\w-]*)/g))
    if (!flags.has(flag) && !OUTSIDE.has(flag) && !all.includes(flag))
      complaints.push(`no flag \`${flag}\``);
  for (const [, path = ""] of span.matchAll(/--set ['"]?([\w.]+)/g))
    if (!isValue(path)) complaints.push(`no value \`${path}\``);
  for (const [, script = ""] of span.matchAll(/\bnpm run ([\w:-]+)/g))
    if (!Object.hasOwn(scripts, script)) complaints.push(`no script \`${script}\``);
  for (const [, one = "", two = ""] of span.matchAll(/\bkubectl iam ([a-z-]+)(?: ([a-z-]+))?/g))
    if (!commandNames.has(one) && !commandNames.has(`${one} ${two}`))
      complaints.push(`no command \`kubectl iam ${one}\``);
  const [first = ""] = span.split(/[:=\s]/);
  if (OUTSIDE.has(first)) return complaints;
  if (/^(spec|status)\.[a-z]/.test(first)) {
    if (!isField(first)) complaints.push(`no field \`${first}\``);
  } else if (isPath(first)) {
    if (!isFile(first)) complaints.push(`no file \`${first}\``);
  } else if (/^[a-z]\w*(\[\])?(\.[a-z][\w[\]]*)+$/.test(first)) {
    const isOfTool = words === allWords && words.has(first.split(".").at(-1) ?? "");
    if (!isOfTool && !isValue(first) && !isPartOfField(first) && !isQuoted(first) && !isHost(first))
      complaints.push(`no field or value \`${first}\``);
  } else if (/^[A-Z][a-z]+\w*$/.test(span) && !words.has(span))
    complaints.push(`no name \`${span}\``);
  return complaints;
}

const isHost = (name: string) => /\.(io|com|org|dev|internal|svc)$/.test(name);
/** A file of the repository, or one of the reader's that a command on some page writes or reads. */
const isQuoted = (name: string) => blocks.includes(name) || baseNames.has(name);

const isPath = (name: string) =>
  /^[\w.@*{},-][\w.@*{},/-]*$/.test(name) &&
  !name.includes("KIND") &&
  ((name.includes("/") && topFolders.has(name.split("/")[0] ?? "")) ||
    /\.(ts|md|yaml|tsv|mjs|cjs|svg|json|tpl)$/.test(name));

function isFile(name: string): boolean {
  const path = name.replace(/\/$/, "");
  return (
    existsSync(join(root, path)) ||
    files.some((file) => matchesGlob(file, path) || matchesGlob(file, `**/${path}`)) ||
    files.some((file) => file.endsWith(`/${path}`)) ||
    isQuoted(name) ||
    all.includes(name)
  );
}
