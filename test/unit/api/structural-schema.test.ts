import { describe, expect, test } from "vitest";
import { z } from "zod";
import { objectSchema } from "../../../src/api/crd.ts";
import { kinds } from "../../../src/api/kinds.ts";
import { atomic } from "../../../src/api/lists.ts";
import { matching, withRule } from "../../../src/api/rule.ts";
import { type StructuralSchema, toStructuralSchema } from "../../../src/api/structural-schema.ts";

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
      "a map",
      z.record(z.string(), z.int()).meta({ maxProperties: 3 }),
      { type: "object", maxProperties: 3, additionalProperties: { type: "integer" } },
    ],
    [
      "a time, without zod's own pattern",
      z.iso.datetime().meta({ format: "date-time" }),
      { type: "string", format: "date-time" },
    ],
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

  test("with its keywords in a fixed order", () => {
    const schema = z.object({ a: z.string() }).meta({ description: "D." });
    expect(Object.keys(toStructuralSchema(schema))).toEqual([
      "description",
      "type",
      "required",
      "properties",
    ]);
  });
});

describe("a zod schema with features that the CRDs do not use is rejected", () => {
  const recursive: z.ZodType = z.object({
    get child() {
      return recursive.optional();
    },
  });
  test.each<[string, z.ZodType, RegExp]>([
    ["an id, which would become a reference", z.string().meta({ id: "x" }), /do not use \$ref|id/],
    ["a union", z.object({ a: z.union([z.int(), z.string()]) }), /\ba: our CRDs do not use anyOf/],
    [
      "a mistake deep inside",
      z.object({ a: atomic(z.record(z.string(), z.null()), 1) }),
      /a\[\]\.\*: .*nullable/,
    ],
    ["a loose object", z.looseObject({}), /lacks a type/],
    ["anything", z.unknown(), /lacks a type/],
    ["nothing or text", z.string().nullable(), /nullable/],
    ["a list without a type", z.array(z.string()), /src\/api\/lists.ts/],
    ["a tuple", z.tuple([z.string(), z.int()]), /src\/api\/lists.ts/],
    ["a big integer", z.bigint(), /BigInt/i],
    ["a transformation", z.string().transform(Number), /cannot transform/],
    ["a recursive object", recursive, /cycle/i],
    ["a pattern, which only a rule gives words", z.string().regex(/^x/), /do not use pattern/],
    ["examples", z.string().meta({ examples: ["x"] }), /do not use examples/],
  ])("%s", (_, schema, cause) => {
    expect(() => toStructuralSchema(schema)).toThrow(cause);
  });

  test("a rule whose pattern CEL cannot quote", () => {
    expect(() => matching(z.string(), /'/, "m")).toThrow("cannot hold a quote");
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
  const nameless = [node.items, node.additionalProperties].filter((child) => child !== undefined);
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
