import { describe, expect, test } from "vitest";
import { z } from "zod";
import { objectSchema } from "../../../src/api/crd.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { matching, withRule } from "../../../src/api/rule.ts";
import {
  assertStructural,
  type StructuralSchema,
  toStructuralSchema,
} from "../../../src/api/structural-schema.ts";

describe("a zod schema becomes structural", () => {
  const sub = z.object({ a: z.string() });
  test.each<[string, z.ZodType, StructuralSchema]>([
    ["text with bounds", z.string().min(1).max(9), { type: "string", minLength: 1, maxLength: 9 }],
    [
      "an integer without the bounds that zod adds",
      z.object({ a: z.int(), b: z.int().min(1).max(9) }),
      {
        type: "object",
        required: ["a", "b"],
        properties: { a: { type: "integer" }, b: { type: "integer", minimum: 1, maximum: 9 } },
      },
    ],
    [
      "a default, which makes a field optional",
      z.object({ a: z.string().default("x") }),
      { type: "object", properties: { a: { type: "string", default: "x" } } },
    ],
    [
      "an object whose own fields have defaults",
      z.object({ a: z.object({ b: z.int().default(1) }).prefault({}) }),
      {
        type: "object",
        properties: {
          a: { type: "object", default: {}, properties: { b: { type: "integer", default: 1 } } },
        },
      },
    ],
    [
      "a schema in use twice, without references",
      z.object({ x: sub, y: sub.optional() }),
      {
        type: "object",
        required: ["x"],
        properties: {
          x: { type: "object", required: ["a"], properties: { a: { type: "string" } } },
          y: { type: "object", required: ["a"], properties: { a: { type: "string" } } },
        },
      },
    ],
    [
      "a strict object, which the server prunes by itself",
      z.strictObject({ a: z.string().optional() }),
      { type: "object", properties: { a: { type: "string" } } },
    ],
    [
      "a loose object, which keeps what it does not know",
      z.looseObject({ a: z.string().optional() }),
      {
        type: "object",
        "x-kubernetes-preserve-unknown-fields": true,
        properties: { a: { type: "string" } },
      },
    ],
    [
      "anything",
      z.unknown().meta({ description: "Anything." }),
      { description: "Anything.", "x-kubernetes-preserve-unknown-fields": true },
    ],
    [
      "a map",
      z.record(z.string(), z.int()).meta({ maxProperties: 3 }),
      { type: "object", maxProperties: 3, additionalProperties: { type: "integer" } },
    ],
    [
      "a time, without zod's own pattern",
      z.iso.datetime().meta({ format: "date-time" }),
      { type: "string", format: "date-time" },
    ],
    [
      "an integer or text",
      z.union([z.int().min(1), z.string()]).meta({ "x-kubernetes-int-or-string": true }),
      {
        anyOf: [{ type: "integer" }, { type: "string" }],
        "x-kubernetes-int-or-string": true,
      } as StructuralSchema,
    ],
    ["nothing or text", z.string().nullable(), { type: "string", nullable: true }],
    ["an enum", z.enum(["A", "B"]), { type: "string", enum: ["A", "B"] }],
    [
      "words in place of a pattern",
      matching(z.string().max(9), /^a\/b$/, "must be a/b"),
      {
        type: "string",
        maxLength: 9,
        "x-kubernetes-validations": [{ rule: "self.matches(r'^a/b$')", message: "must be a/b" }],
      },
    ],
    [
      "several rules, with a default and a description around them",
      withRule(
        withRule(z.object({ a: z.int() }), { rule: "r1", message: "m1", holds: () => true }),
        { rule: "r2", message: "m2", holds: () => true, field: "a" },
      )
        .default({ a: 1 })
        .meta({ description: "D." }),
      {
        description: "D.",
        type: "object",
        default: { a: 1 },
        "x-kubernetes-validations": [
          { rule: "r1", message: "m1" },
          { rule: "r2", message: "m2", fieldPath: ".a" },
        ],
        required: ["a"],
        properties: { a: { type: "integer" } },
      },
    ],
  ])("%s", (_, schema, expected) => {
    expect(toStructuralSchema(schema)).toEqual(expected);
  });

  test("with its keywords in one order", () => {
    const schema = z.object({ a: z.string() }).meta({ description: "D." });
    expect(Object.keys(toStructuralSchema(schema))).toEqual([
      "description",
      "type",
      "required",
      "properties",
    ]);
  });
});

describe("a zod schema that no CRD can say is refused", () => {
  const recursive: z.ZodType = z.object({
    get child() {
      return recursive.optional();
    },
  });
  test.each<[string, z.ZodType, RegExp]>([
    ["an id, which would become a reference", z.string().meta({ id: "x" }), /\$ref is not allowed/],
    ["a bare union", z.object({ a: z.union([z.int(), z.string()]) }), /^a: has no type/],
    [
      "a discriminated union",
      z.discriminatedUnion("t", [
        z.object({ t: z.literal("a"), x: z.string() }),
        z.object({ t: z.literal("b") }),
      ]),
      /has no type|oneOf|discriminator/,
    ],
    ["a tuple", z.tuple([z.string(), z.int()]), /./],
    ["a big integer", z.bigint(), /BigInt/i],
    ["a date", z.date(), /Date/i],
    ["a transformation", z.string().transform(Number), /cannot transform/],
    ["a recursive object", recursive, /cycle/i],
    ["a read-only object", z.object({ a: z.string() }).readonly(), /readOnly is not allowed/],
    ["look-around", z.string().regex(/^(?!x)/), /look-around/],
    ["look-behind", z.string().regex(/(?<=x)y/), /look-around/],
    ["a named group", z.string().regex(/(?<n>y)/), /look-around/],
    ["a back-reference", z.string().regex(/(a)\1/), /back-references/],
    ["an escape that RE2 has not", z.string().regex(/\u0041/), /RE2/],
    ["zod's duration", z.iso.duration(), /look-around/],
    ["look-around in a rule", matching(z.string(), /^(?!x)/, "m"), /look-around/],
    ["examples", z.string().meta({ examples: ["x"] }), /examples is not allowed/],
    ["a deprecated field", z.string().meta({ deprecated: true }), /deprecated is not allowed/],
    [
      "a list by a key that may be absent",
      z.array(z.object({ k: z.string().optional() })).meta({
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
      }),
      /key k is neither required nor has a default/,
    ],
  ])("%s", (_, schema, cause) => {
    expect(() => toStructuralSchema(schema)).toThrow(cause);
  });

  test("a rule whose pattern CEL cannot quote", () => {
    expect(() => matching(z.string(), /'/, "m")).toThrow("cannot hold a quote");
  });

  test.each<[string, unknown, string]>([
    ["no type", { properties: {} }, "schema: has no type"],
    [
      "properties beside additionalProperties",
      { type: "object", properties: {}, additionalProperties: { type: "string" } },
      "schema: has both properties and additionalProperties",
    ],
    [
      "a closed object",
      { type: "object", additionalProperties: false },
      "schema: forbids additionalProperties",
    ],
    ["a list of nothing", { type: "array" }, "schema: array has no items"],
    ["a list", { type: "array", items: { type: "string" } }, "schema: a list has no type"],
    [
      "unique items",
      { type: "array", items: { type: "string" }, uniqueItems: true },
      "schema: uniqueItems is not allowed",
    ],
    [
      "a type below anyOf",
      { type: "object", properties: { a: { type: "string", anyOf: [{ type: "string" }] } } },
      "a.anyOf[0]: type is not allowed",
    ],
    [
      "a default below not",
      { type: "string", not: { default: "x" } },
      "schema.not: default is not allowed",
    ],
    [
      "an integer or text with a type",
      { type: "string", "x-kubernetes-int-or-string": true },
      "schema: int-or-string has a type",
    ],
    [
      "a mistake deep inside",
      {
        type: "object",
        properties: {
          a: {
            type: "array",
            "x-kubernetes-list-type": "atomic",
            items: { type: "object", additionalProperties: { const: 1 } },
          },
        },
      },
      "a[].*: const is not allowed in a CRD",
    ],
    ...[
      "$ref",
      "definitions",
      "discriminator",
      "patternProperties",
      "writeOnly",
      "xml",
      "propertyNames",
      "dependencies",
    ].map((key): [string, unknown, string] => [
      key,
      { type: "object", [key]: {} },
      `schema: ${key} is not allowed in a CRD`,
    ]),
  ])("%s, where a schema is written by hand", (_, schema, cause) => {
    expect(() => assertStructural(schema)).toThrow(cause.replace("schema.not", ".not"));
  });
});

describe.each(kinds)("the schema of $kind", (kind) => {
  const { spec = {}, status = {} } = objectSchema(kind).properties ?? {};

  test.each([
    ["spec", spec],
    ["status", status],
  ])("describes every field of %s in whole sentences", (name, node) => {
    const silent = nodesOf(node, name).filter(
      ({ node: { description = "" } }) => !/^[A-Z].*\.$/.test(description),
    );
    expect(silent.map(({ path }) => path)).toEqual([]);
  });

  test("bounds every text, list and map of the spec", () => {
    const unbounded = nodesOf(spec, "spec", true).filter(
      ({
        node: { type, enum: values, maxLength, maxItems, additionalProperties, maxProperties },
      }) =>
        (type === "string" && values === undefined && maxLength === undefined) ||
        (type === "array" && maxItems === undefined) ||
        (additionalProperties !== undefined && maxProperties === undefined),
    );
    expect(unbounded.map(({ path }) => path)).toEqual([]);
  });

  test("has objects in the status, and conditions, that are written as a whole", () => {
    const parts = Object.values(status.properties ?? {});
    const isMap = (part: StructuralSchema) => part["x-kubernetes-list-type"] === "map";
    const objects = parts.flatMap((part) => (isMap(part) ? (part.items ?? []) : part));
    const types = objects
      .filter(({ type }) => type === "object")
      .map((part) => part["x-kubernetes-map-type"]);
    // At least the plan and a condition.
    expect(types.length).toBeGreaterThan(1);
    expect(new Set(types)).toEqual(new Set(["atomic"]));
  });
});

interface Named {
  readonly path: string;
  readonly node: StructuralSchema;
}

function nodesOf(node: StructuralSchema, path: string, all = false): readonly Named[] {
  const values = typeof node.additionalProperties === "object" ? [node.additionalProperties] : [];
  const nameless = [...(node.items === undefined ? [] : [node.items]), ...values];
  return [
    ...Object.entries(node.properties ?? {}).flatMap(([name, child]) => [
      { path: `${path}.${name}`, node: child },
      ...nodesOf(child, `${path}.${name}`, all),
    ]),
    ...nameless.flatMap((child) => [
      ...(all ? [{ path: `${path}[]`, node: child }] : []),
      ...nodesOf(child, `${path}[]`, all),
    ]),
  ];
}
