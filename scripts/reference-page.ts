/** From a kind to its reference page. */
import { clusterConnectionKind } from "../src/api/connection.ts";
import { objectSchema } from "../src/api/crd.ts";
import { columnsOf, type Kind } from "../src/api/kind.ts";
import { kinds as allKinds } from "../src/api/kinds.ts";
import { API_VERSION } from "../src/api/meta.ts";
import { conditionHelp } from "../src/api/reasons/conditions.ts";
import { secretVariables } from "../src/api/secret-variables.ts";
import { type StructuralSchema, toStructuralSchema } from "../src/api/structural-schema.ts";
import { code, type Row, table } from "./markdown.ts";

/** The kind whose page has the fields that both have. */
const SAME_AS: Readonly<Record<string, Kind>> = { Connection: clusterConnectionKind };

/** A Markdown page about the kind, with the example as it stands. */
export function toReferencePage(kind: Kind, example: string): string {
  const base = SAME_AS[kind.kind];
  const but = (rowsOf: (kind: Kind) => readonly Row[]) =>
    base === undefined ? rowsOf(kind) : without(rowsOf(kind), rowsOf(base));
  return [
    `# ${kind.kind}`,
    kind.description,
    facts(kind),
    "## Example",
    `\`\`\`yaml\n${example.trimEnd()}\n\`\`\``,
    "## Spec",
    ...(base === undefined ? [] : [differences(kind, base)]),
    ...tableOf(["Field", "Type", "Default", "Description"], but(specRows)),
    ...(kind.kind === "ApiKey" ? [variables()] : []),
    "## Status",
    `The [fields and conditions of every kind](README.md#status-of-every-kind) and ${base === undefined ? "these" : `those of a [${base.kind}](${fileName(base)}.md#status)`}.`,
    ...tableOf(["Field", "Type", "Description"], but(ownStatusRows)),
    ...tableOf(["Condition", "Meaning", "Reasons"], but(ownConditionRows)),
    "## Columns",
    `What \`kubectl get ${kind.shortName}\` prints.`,
    ...tableOf(["Column", "Content"], columnRows(kind)),
    ...(kind.selectableFields.length === 0 ? [] : [selectors(kind)]),
  ]
    .join("\n\n")
    .concat("\n");
}

/** The page that leads to the others, with what all of them have in common. */
export function toReferenceIndex(kinds: readonly Kind[]): string {
  return [
    "# Reference",
    "[kubectl iam](kubectl-iam.md) · [annotations and labels](annotations.md) · [events](events.md) · [reasons](../troubleshooting.md) · [metrics](metrics.md) · [flags](flags.md) · [chart values](../../charts/iam-operator/README.md) · [log lines](../logs.md)",
    `Every kind of \`${API_VERSION}\`. \`kubectl get iam\` lists all namespaced ones.`,
    ...tableOf(
      ["Kind", "Short name", "Scope", "In one line"],
      kinds.map((kind) => [
        `[${kind.kind}](${fileName(kind)}.md)`,
        code(kind.shortName),
        kind.scope === "Cluster" ? "cluster" : "namespace",
        kind.description,
      ]),
    ),
    "Texts, lists and maps have maximum sizes. If a field is not valid, the API server refuses the object and says why. What it cannot judge, such as whether a schedule ever comes, is reported as `Stalled` with reason `InvalidSpec`.",
    "## Status of every kind",
    ...tableOf(["Field", "Type", "Description"], commonStatusRows),
    "Fields that only the operator uses are left out; `kubectl explain` has them, with the word *Internal*.",
    ...tableOf(
      ["Condition", "Meaning"],
      commonConditionRows.map(([condition = "", meaning = ""]) => [condition, meaning]),
    ),
    "These pages are generated from `src`.",
  ]
    .join("\n\n")
    .concat("\n");
}

function differences(kind: Kind, base: Kind): string {
  const names = (of: Kind) => Object.keys(toStructuralSchema(of.spec).properties ?? {});
  const missing = names(base).filter((name) => !names(kind).includes(name));
  const list = missing.map((name) => code(`spec.${name}`)).join(" and ");
  return `All fields of a [${base.kind}](${fileName(base)}.md#spec), except ${list}.`;
}

const without = (rows: readonly Row[], others: readonly Row[]) =>
  rows.filter((row) => !others.some((other) => other.join("|") === row.join("|")));
const inAll = (rowsOf: (kind: Kind) => readonly Row[]) => {
  const [first = [], ...others] = allKinds.map(rowsOf);
  return first.filter((row) => others.every((rows) => without([row], rows).length === 0));
};
const commonStatusRows = inAll(statusRows);
const commonConditionRows = inAll(conditionRows);
const ownStatusRows = (kind: Kind) => without(statusRows(kind), commonStatusRows);
const ownConditionRows = (kind: Kind) => without(conditionRows(kind), commonConditionRows);

/** `ApiKey` → `api-key`. */
export function fileName({ kind }: Pick<Kind, "kind">): string {
  return kind.replace(/(?!^)[A-Z]/g, "-$&").toLowerCase();
}

interface Field {
  readonly path: string;
  readonly node: StructuralSchema;
  readonly required: boolean;
}

function fieldsOf(node: StructuralSchema, path: string): readonly Field[] {
  return Object.entries(node.properties ?? {}).flatMap(([name, child]) => {
    const at = `${path}.${name}`;
    const field = { path: at, node: child, required: node.required?.includes(name) === true };
    return [field, ...fieldsOf(child, at), ...fieldsOf(child.items ?? {}, `${at}[]`)];
  });
}

function facts(kind: Kind): string {
  const scope = kind.scope === "Cluster" ? "Cluster-scoped" : "Namespaced";
  const names = `\`${kind.plural}\`, short \`${kind.shortName}\`${kind.scope === "Cluster" ? "" : ", category `iam`"}`;
  const length =
    kind.maxNameLength === undefined ? "" : ` Names have at most ${kind.maxNameLength} characters.`;
  const clash =
    kind.kind === "ServiceAccount"
      ? " At kubectl, write `iamsa`: `serviceaccount` alone means Kubernetes' own kind."
      : "";
  return `${scope}; \`apiVersion: ${API_VERSION}\`; ${names}.${length}${clash}`;
}

/** With the defaults that are not stored. */
function specRows(kind: Kind): readonly Row[] {
  return fieldsOf(toStructuralSchema(kind.spec), "spec").map(({ path, node, required }) => [
    code(path),
    typeOf(node),
    required ? "required" : defaultOf(node),
    node.description ?? "",
  ]);
}

function statusRows(kind: Kind): readonly Row[] {
  const { status = {} } = objectSchema(kind).properties ?? {};
  return fieldsOf(withoutInternal(status), "status").map(({ path, node }) => [
    code(path),
    typeOf(node),
    node.description ?? "",
  ]);
}

/** Without the fields that only the operator uses. */
function withoutInternal(node: StructuralSchema): StructuralSchema {
  const properties = Object.entries(node.properties ?? {})
    .filter(([, { description = "" }]) => !description.startsWith("Internal."))
    .map(([name, child]) => [name, withoutInternal(child)]);
  return { ...node, properties: Object.fromEntries(properties) };
}

function columnRows(kind: Kind): readonly Row[] {
  return columnsOf(kind).map(({ name, description, priority }) => [
    code(name.toUpperCase()),
    priority === 1 ? `${description} Only with \`-o wide\`.` : description,
  ]);
}

function typeOf(node: StructuralSchema): string {
  if (node.enum !== undefined) return node.enum.map((value) => code(String(value))).join(", ");
  if (node.type === "array") return `list of ${typeOf(node.items ?? {})}`;
  if (node.additionalProperties !== undefined) return `map to ${typeOf(node.additionalProperties)}`;
  return node.format === "date-time" ? "time" : (node.type ?? "any");
}

function defaultOf(node: StructuralSchema): string {
  return node.default === undefined ? "" : code(JSON.stringify(node.default));
}

function variables(): string {
  const list = secretVariables.map((name) => code(`\${${name}}`)).join(", ");
  return `Variables of \`spec.secret.data\`: ${list}. The two of the previous key are empty outside the overlap.`;
}

function conditionRows(kind: Kind): readonly Row[] {
  return (conditionHelp[kind.kind] ?? []).map(({ type, meaning, reasons }) => [
    code(type),
    meaning,
    reasons
      .map((reason) => `[${reason}](../troubleshooting.md#${reason.toLowerCase()})`)
      .join(", "),
  ]);
}

function selectors(kind: Kind): string {
  const fields = kind.selectableFields.map((field) => code(field.slice(1))).join(", ");
  return `Fields for \`--field-selector\`: ${fields}.`;
}

/** Nothing without rows. */
function tableOf(head: Row, rows: readonly Row[]): readonly string[] {
  return rows.length === 0 ? [] : [table(head, rows)];
}
