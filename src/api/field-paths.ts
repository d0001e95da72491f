/** The fields of a kind's schema, to compare the CRDs in a cluster with those of this version. */
import { toCrd } from "./crd.ts";
import type { Kind } from "./kind.ts";

/** The part of a schema that names fields. */
export interface FieldSchema {
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly items?: FieldSchema;
  readonly additionalProperties?: FieldSchema | boolean;
}

/** Dotted paths of all fields of the spec and the status; metadata is the API server's. */
export function fieldPaths(schema: FieldSchema | undefined): readonly string[] {
  const { spec, status } = schema?.properties ?? {};
  return pathsBelow({ properties: { ...(spec && { spec }), ...(status && { status }) } }, "");
}

export function fieldPathsOf(kind: Kind): readonly string[] {
  return fieldPaths(toCrd(kind).spec.versions[0]?.schema.openAPIV3Schema);
}

function pathsBelow(schema: FieldSchema, before: string): readonly string[] {
  const { items, additionalProperties, properties = {} } = schema;
  if (items !== undefined) return pathsBelow(items, before);
  if (typeof additionalProperties === "object") return pathsBelow(additionalProperties, before);
  return Object.entries(properties).flatMap(([name, child]) => {
    const path = before === "" ? name : `${before}.${name}`;
    return [path, ...pathsBelow(child, path)];
  });
}
