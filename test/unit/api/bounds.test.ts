/** Anything that a tenant may write is bounded by its schema: a field without a bound is as large as a request. */
import { describe, expect, test } from "vitest";
import { kinds } from "../../../src/api/kinds.ts";
import { type StructuralSchema, toStructuralSchema } from "../../../src/api/structural-schema.ts";

type Place = readonly [path: string, node: StructuralSchema];

function placesOf(path: string, node: StructuralSchema): readonly Place[] {
  const { properties = {}, additionalProperties, items } = node;
  const below = [
    ...Object.entries(properties).map(([name, child]) => [`${path}.${name}`, child] as const),
    ...(additionalProperties === undefined ? [] : [[`${path}.*`, additionalProperties] as const]),
    ...(items === undefined ? [] : [[`${path}[]`, items] as const]),
  ];
  return [[path, node], ...below.flatMap(([at, child]) => placesOf(at, child))];
}

/** What is missing. */
function openEnd(node: StructuralSchema): string | undefined {
  const { type, format, additionalProperties: map } = node;
  if (type === "array" && node.maxItems === undefined) return "maxItems";
  const isText = type === "string" && node.enum === undefined && format !== "date-time";
  if (isText && node.maxLength === undefined) return "maxLength";
  if (map === undefined) return undefined;
  if (node.maxProperties === undefined) return "maxProperties";
  const rules = (node["x-kubernetes-validations"] ?? []).map(({ rule }) => rule);
  return rules.some((rule) => /^self\.all\(key, size\(key\) <= \d+\)$/.test(rule))
    ? undefined
    : "a bound of its keys";
}

describe.each(kinds.map((kind) => [kind.kind, kind] as const))("%s", (_, kind) => {
  test.each(["spec", "status"] as const)(
    "every text, list, map and key of its %s is bounded",
    (part) => {
      const places = placesOf(part, toStructuralSchema(kind[part]));
      const open = places.flatMap(([path, node]) => {
        const missing = openEnd(node);
        return missing === undefined ? [] : [`${path} lacks ${missing}`];
      });
      expect(open).toEqual([]);
      expect(places.length).toBeGreaterThan(5);
    },
  );
});
