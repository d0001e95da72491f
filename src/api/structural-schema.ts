/** From zod to the structural OpenAPI v3 schema that a CRD holds. */
import * as z from "zod";
import { ownEntry } from "../util/own-entry.ts";
import { VALIDATIONS, type Validation } from "./rule.ts";

/** The part of apiextensions.k8s.io/v1 JSONSchemaProps that we use. */
export interface StructuralSchema {
  type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  description?: string;
  format?: string;
  default?: unknown;
  nullable?: boolean;
  enum?: readonly unknown[];
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  multipleOf?: number;
  items?: StructuralSchema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  properties?: Record<string, StructuralSchema>;
  required?: readonly string[];
  additionalProperties?: StructuralSchema | boolean;
  minProperties?: number;
  maxProperties?: number;
  allOf?: readonly StructuralSchema[];
  anyOf?: readonly StructuralSchema[];
  oneOf?: readonly StructuralSchema[];
  not?: StructuralSchema;
  "x-kubernetes-validations"?: readonly Validation[];
  "x-kubernetes-list-type"?: "atomic" | "set" | "map";
  "x-kubernetes-list-map-keys"?: readonly string[];
  "x-kubernetes-map-type"?: "atomic" | "granular";
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
}

/**
 * The schema as the API server takes it. Throws where zod says something that a CRD cannot, so that nothing
 * is lost silently but `.refine()`, whose CEL twin `withRule` writes, and the checks of a record's keys.
 */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    target: "openapi-3.0",
    io: "input",
    unrepresentable: "throw",
    reused: "inline",
    cycles: "throw",
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema._zod.def.type === "pipe") throw new Error("a CRD cannot transform values");
      adapt(jsonSchema as Node);
    },
  });
  assertStructural(json);
  return ordered(json);
}

type Node = Record<string, unknown>;

/** Kubernetes knows these formats; the patterns that zod adds to them are long and not all RE2. */
const FORMATS_WITHOUT_PATTERN = new Set(["date-time", "date", "email", "uri"]);

function adapt(node: Node): void {
  if (FORMATS_WITHOUT_PATTERN.has(String(node.format))) delete node.pattern;
  if (node["x-kubernetes-int-or-string"] === true) {
    delete node.type;
    node.anyOf = [{ type: "integer" }, { type: "string" }];
  }
  // What z.int() adds by itself.
  if (node.minimum === Number.MIN_SAFE_INTEGER) delete node.minimum;
  if (node.maximum === Number.MAX_SAFE_INTEGER) delete node.maximum;
  if (node.type === "object" && node.properties !== undefined) {
    // A loose object keeps what it does not know; a strict one is pruned by the server.
    if (isObject(node.additionalProperties)) {
      node["x-kubernetes-preserve-unknown-fields"] = true;
    }
    delete node.additionalProperties;
  }
  if (Object.keys(node).every((key) => key === "description")) {
    node["x-kubernetes-preserve-unknown-fields"] = true;
  }
}

const ORDER = [
  "description",
  "type",
  "format",
  "default",
  "nullable",
  "enum",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "exclusiveMinimum",
  "maximum",
  "exclusiveMaximum",
  "multipleOf",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "x-kubernetes-int-or-string",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-embedded-resource",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-map-type",
  VALIDATIONS,
  "required",
  "properties",
  "additionalProperties",
  "items",
];
const KNOWN = new Set(ORDER);
/** What a branch of allOf, anyOf, oneOf or not may not say, since it would shape the object. */
const FORBIDDEN_IN_BRANCHES = [
  "type",
  "default",
  "nullable",
  "description",
  "additionalProperties",
  VALIDATIONS,
];
const BRANCHES = ["allOf", "anyOf", "oneOf"] as const;

/** Throws unless the API server would accept the schema; names the place and the cause. */
export function assertStructural(schema: unknown): asserts schema is StructuralSchema {
  check(schema, "", false);
}

function check(node: unknown, path: string, inBranch: boolean): void {
  const refuse = (cause: string): never => {
    throw new Error(`${path === "" ? "schema" : path}: ${cause}`);
  };
  if (!isObject(node)) throw new Error(`${path}: is not a schema`);
  const unknown = Object.keys(node).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) refuse(`${unknown} is not allowed in a CRD`);
  if (inBranch) checkBranch(node, refuse);
  else checkType(node, refuse);
  checkPatterns(node, refuse);
  checkList(node, refuse);
  for (const [name, child] of children(node)) check(child, join(path, name), inBranch);
  for (const [name, branch] of branches(node)) check(branch, `${path}.${name}`, true);
}

type Refuse = (cause: string) => never;

function checkBranch(node: Node, refuse: Refuse): void {
  const forbidden = FORBIDDEN_IN_BRANCHES.find((key) => key in node);
  if (forbidden !== undefined) refuse(`${forbidden} is not allowed below allOf, anyOf or oneOf`);
}

function checkType(node: Node, refuse: Refuse): void {
  const intOrString = node["x-kubernetes-int-or-string"] === true;
  const type = node.type;
  if (type === undefined && !intOrString && node["x-kubernetes-preserve-unknown-fields"] !== true) {
    refuse("has no type");
  }
  if (intOrString && type !== undefined) refuse("int-or-string has a type");
  if (node.properties !== undefined && node.additionalProperties !== undefined) {
    refuse("has both properties and additionalProperties");
  }
  if (node.additionalProperties === false) refuse("forbids additionalProperties");
  if (type === "array" && node.items === undefined) refuse("array has no items");
  if (node.uniqueItems === true) refuse("uniqueItems is not allowed: use a list of type set");
}

function checkList(node: Node, refuse: Refuse): void {
  if (node.type !== "array") return;
  if (node["x-kubernetes-list-type"] === undefined) refuse("a list has no type");
  if (node["x-kubernetes-list-type"] !== "map") return;
  const keys = (node["x-kubernetes-list-map-keys"] ?? []) as readonly string[];
  const items = node.items as StructuralSchema;
  if (keys.length === 0) refuse("a list of type map has no keys");
  const open = keys.find(
    (key) =>
      items.required?.includes(key) !== true &&
      ownEntry(items.properties, key)?.default === undefined,
  );
  if (open !== undefined) refuse(`the list's key ${open} is neither required nor has a default`);
}

function checkPatterns(node: Node, refuse: Refuse): void {
  const rules = (node[VALIDATIONS] ?? []) as readonly Validation[];
  const patterns = rules.flatMap(({ rule }) =>
    [...rule.matchAll(/matches\(r'([^']*)'\)/g)].map(([, pattern]) => pattern),
  );
  for (const pattern of [node.pattern, ...patterns]) {
    if (typeof pattern === "string") checkPattern(pattern, refuse);
  }
}

/** Go's RE2 has neither look-around nor back-references, and its \c and \u are others. */
function checkPattern(pattern: string, refuse: Refuse): void {
  if (/\(\?(=|!|<)/.test(pattern)) refuse(`RE2 has no look-around: ${pattern}`);
  if (/(^|[^\\])(\\\\)*\\([1-9]|k<)/.test(pattern))
    refuse(`RE2 has no back-references: ${pattern}`);
  if (/(^|[^\\])(\\\\)*\\[cu]/.test(pattern)) refuse(`RE2 knows no \\c and \\u: ${pattern}`);
}

function branches(node: Node): readonly (readonly [string, unknown])[] {
  if (node["x-kubernetes-int-or-string"] === true) return [];
  const lists = BRANCHES.flatMap((key) =>
    ((node[key] ?? []) as readonly unknown[]).map((branch, i) => [`${key}[${i}]`, branch] as const),
  );
  return node.not === undefined ? lists : [...lists, ["not", node.not]];
}

function children(node: Node): readonly (readonly [string, unknown])[] {
  const { properties, additionalProperties, items } = node;
  return [
    ...(isObject(properties) ? Object.entries(properties) : []),
    ...(isObject(additionalProperties) ? [["*", additionalProperties] as const] : []),
    ...(items === undefined ? [] : [["[]", items] as const]),
  ];
}

function join(path: string, name: string): string {
  return path === "" || name === "[]" ? `${path}${name}` : `${path}.${name}`;
}

/** The same schema with its keywords in one order, so that generated files do not move. */
function ordered(node: StructuralSchema): StructuralSchema {
  const known = ORDER.flatMap((key) => {
    const value = ownEntry(node as Node, key);
    return value === undefined ? [] : [[key, orderedValue(key, value)] as const];
  });
  return Object.fromEntries(known);
}

function orderedValue(key: string, value: unknown): unknown {
  if (key === "items" || key === "not") return ordered(value as StructuralSchema);
  if (key === "additionalProperties") return isObject(value) ? ordered(value) : value;
  if (key === "properties") {
    return Object.fromEntries(
      Object.entries(value as Record<string, StructuralSchema>).map(([name, child]) => [
        name,
        ordered(child),
      ]),
    );
  }
  return value;
}

function isObject(value: unknown): value is Node {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
