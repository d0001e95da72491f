/** From a kind to its reference page. */
import { objectSchema } from "../src/api/crd.ts";
import { columnsOf, type Kind } from "../src/api/kind.ts";
import { API_VERSION } from "../src/api/meta.ts";
import { conditionHelp } from "../src/api/reasons/conditions.ts";
import { VALIDATIONS } from "../src/api/rule.ts";
import { secretVariables } from "../src/api/secret-variables.ts";
import { type StructuralSchema, toStructuralSchema } from "../src/api/structural-schema.ts";

/** A Markdown page about the kind, with the example as it stands. */
export function toReferencePage(kind: Kind, example: string): string {
  const { spec = {}, status = {} } = objectSchema(kind).properties ?? {};
  return [
    `# ${kind.kind}`,
    kind.description,
    facts(kind),
    "## Example",
    `\`\`\`yaml\n${example.trimEnd()}\n\`\`\``,
    "## Spec",
    // With the defaults that are not stored.
    specTable(toStructuralSchema(kind.spec)),
    ...(kind.kind === "ApiKey" ? [variables()] : []),
    "## Rules",
    "The API server refuses what breaks one of these, and says so in these words. What it cannot judge, such as whether a time zone exists, the operator reports as `Stalled` with reason `InvalidSpec`.",
    ruleTable(spec),
    "## Status",
    statusTable(status),
    "## Conditions",
    conditionTable(kind),
    "## Columns",
    `What \`kubectl get ${kind.shortName}\` prints.`,
    columnTable(kind),
    ...(kind.selectableFields.length === 0 ? [] : [selectors(kind)]),
  ]
    .join("\n\n")
    .concat("\n");
}

/** The page that leads to the others. */
export function toReferenceIndex(kinds: readonly Kind[]): string {
  return [
    "# Reference",
    `Every kind of \`${API_VERSION}\`. \`kubectl get iam\` lists all namespaced ones.`,
    table(
      ["Kind", "Short name", "Scope", "In one line"],
      kinds.map((kind) => [
        `[${kind.kind}](${fileName(kind)}.md)`,
        code(kind.shortName),
        kind.scope === "Cluster" ? "cluster" : "namespace",
        kind.description,
      ]),
    ),
    "[Metrics](metrics.md) have a page of their own. These pages are generated from the schemas in `src/api`.",
  ]
    .join("\n\n")
    .concat("\n");
}

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

function specTable(spec: StructuralSchema): string {
  return table(
    ["Field", "Type", "Default", "Bounds", "Description"],
    fieldsOf(spec, "spec").map(({ path, node, required }) => [
      code(path),
      typeOf(node),
      required ? "required" : defaultOf(node),
      boundsOf(node),
      node.description ?? "",
    ]),
  );
}

function ruleTable(spec: StructuralSchema): string {
  const fields = [{ path: "spec", node: spec }, ...fieldsOf(spec, "spec")];
  return table(
    ["Field", "Rule"],
    fields.flatMap(({ path, node }) => rulesOf(path, node)),
  );
}

function statusTable(status: StructuralSchema): string {
  return table(
    ["Field", "Type", "Description"],
    fieldsOf(status, "status").map(({ path, node }) => [
      code(path),
      typeOf(node),
      node.description ?? "",
    ]),
  );
}

function columnTable(kind: Kind): string {
  return table(
    ["Column", "Content"],
    columnsOf(kind).map(({ name, description, priority }) => [
      code(name.toUpperCase()),
      priority === 1 ? `${description} Only with \`-o wide\`.` : description,
    ]),
  );
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

function boundsOf(node: StructuralSchema): string {
  return [
    range(node.minimum, node.maximum, ""),
    range(node.minLength, node.maxLength, " characters"),
    range(node.minItems, node.maxItems, " items"),
    range(undefined, node.maxProperties, " entries"),
  ]
    .filter((text) => text !== "")
    .join(", ");
}

function range(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `${least} to ${most}${unit}`;
  if (least !== undefined) return `at least ${least}${unit}`;
  return most === undefined ? "" : `at most ${most}${unit}`;
}

function rulesOf(path: string, node: StructuralSchema): readonly (readonly string[])[] {
  const nested = [
    [path, node],
    [`${path}[]`, node.items],
    [`${path}.*`, node.additionalProperties],
  ] as const;
  return nested.flatMap(([at, { [VALIDATIONS]: rules = [] } = {}]) =>
    rules.map(({ message, fieldPath = "" }) => [code(`${at}${fieldPath}`), message]),
  );
}

function variables(): string {
  const list = secretVariables.map((name) => code(`\${${name}}`)).join(", ");
  return `Variables of \`spec.secret.data\`: ${list}. The two of the previous key are empty outside the overlap.`;
}

function conditionTable(kind: Kind): string {
  return table(
    ["Condition", "Meaning", "Reasons that require action"],
    (conditionHelp[kind.kind] ?? []).map(({ type, meaning, reasons }) => [
      code(type),
      meaning,
      reasons
        .map((reason) => `[${reason}](../troubleshooting.md#${reason.toLowerCase()})`)
        .join(", "),
    ]),
  );
}

function selectors(kind: Kind): string {
  const fields = kind.selectableFields.map((field) => code(field.slice(1))).join(", ");
  return `Fields for \`--field-selector\`: ${fields}.`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");
}

function code(text: string): string {
  return `\`${text}\``;
}
