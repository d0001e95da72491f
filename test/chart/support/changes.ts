/** What values change in a rendering of the chart, as lines to compare. */
import { createHash } from "node:crypto";
import { parseAllDocuments } from "yaml";
import { permissionsOf } from "./permissions.ts";

type Tree = Readonly<Record<string, unknown>>;

interface Manifest extends Tree {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
}

const OWN_LABEL = /^(app\.kubernetes\.io|helm\.sh)\//;

/** `+` and `-` for lines that only one of two renderings has, and one line for an object that is gone. */
export function changesBetween(before: string, after: string): readonly string[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  const present = new Set(now.map(objectOf));
  const gone = old
    .filter((line) => !now.includes(line))
    .map((line) => `- ${present.has(objectOf(line)) ? line : objectOf(line)}`);
  const added = now.filter((line) => !old.includes(line)).map((line) => `+ ${line}`);
  return [...new Set([...gone, ...added])];
}

function objectOf(line: string): string {
  return line.split(": ", 1)[0] ?? "";
}

/** `kind name: field = value`, and `kind name: permission` for the rules of roles. */
function linesOf(rendering: string): readonly string[] {
  return parseAllDocuments(rendering)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
    .flatMap((manifest) => {
      const { kind, metadata } = manifest;
      // Roles and their bindings exist once for each namespace.
      const place = kind.startsWith("Role") ? `${metadata.namespace}/` : "";
      const lines = kind.endsWith("Role")
        ? [...fieldsOf({ kind, metadata }), ...permissionsOf(JSON.stringify(manifest))]
        : fieldsOf(manifest);
      return lines.map((line) => `${kind} ${place}${metadata.name}: ${line}`);
    });
}

function fieldsOf({ kind, metadata, ...content }: Manifest): readonly string[] {
  const { name: objectName, ...about } = metadata;
  const labels = Object.entries(metadata.labels ?? {});
  const ownLabels = labels.filter(([name]) => OWN_LABEL.test(name)).map(([, value]) => value);
  const otherLabels = Object.fromEntries(labels.filter(([name]) => !OWN_LABEL.test(name)));
  return leavesOf("", {
    ownLabels: ownLabels.join(" "),
    metadata: { ...about, labels: otherLabels },
    ...contentOf(kind, objectName, content),
  });
}

function contentOf(kind: string, name: string, content: Tree): Tree {
  // The dashboard and the alerts have tests of their own.
  if (kind !== "PrometheusRule" && !name.endsWith("-dashboard")) return content;
  return { sha256: createHash("sha256").update(JSON.stringify(content)).digest("hex") };
}

/** `path = value` for each value. A map of values in a list is one value, and the order of plain lists does not count. */
function leavesOf(path: string, value: unknown): readonly string[] {
  if (Array.isArray(value) && value.length > 0)
    return value.flatMap((item, index) =>
      leavesOf(`${path}[${isMap(item) ? (item.name ?? index) : ""}]`, item),
    );
  const isLeaf = !isMap(value) || (path.endsWith("]") && Object.values(value).every(isPlain));
  return isLeaf
    ? [`${path} = ${JSON.stringify(value)}`]
    : Object.entries(value).flatMap(([name, each]) => leavesOf(`${path}.${name}`, each));
}

function isMap(value: unknown): value is Tree {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlain(value: unknown): boolean {
  return typeof value !== "object";
}
