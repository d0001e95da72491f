/** Turns a kind into its CustomResourceDefinition. */

import { ownEntry } from "../util/own-entry.ts";
import { type CelRule, columnsOf, type Kind } from "./kind.ts";
import { CATEGORY, GROUP, VERSION } from "./meta.ts";
import { VALIDATIONS } from "./rule.ts";
import { mapChildren, type StructuralSchema, toStructuralSchema } from "./structural-schema.ts";

/** The kind determines the names of the CustomResourceDefinition and of its only version. */
export function toCrd(kind: Kind) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.singular,
        shortNames: [kind.shortName],
        ...(kind.scope === "Cluster" ? {} : { categories: [CATEGORY] }),
      },
      scope: kind.scope,
      versions: [
        {
          name: VERSION,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: objectSchema(kind) },
          subresources: { status: {} },
          additionalPrinterColumns: columnsOf(kind).map((column) => ({ ...column })),
          ...(kind.selectableFields.length === 0
            ? {}
            : { selectableFields: kind.selectableFields.map((jsonPath) => ({ jsonPath })) }),
        },
      ],
    },
  };
}

/** The schema of whole objects, for `kubectl explain` and for the API server's validation. */
export function objectSchema(kind: Kind): StructuralSchema {
  const spec = (kind.unstoredDefaults ?? []).reduce(
    withoutDefaultsAt,
    toStructuralSchema(kind.spec),
  );
  const schema: StructuralSchema = {
    description: kind.description,
    type: "object",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: metadataSchema(kind.maxNameLength),
      spec: {
        description: "Desired state.",
        // If a kind requires no field, its manifests may omit the spec.
        ...(spec.required === undefined ? { default: {} } : {}),
        ...spec,
      },
      status: {
        description: "Observed state. Only the operator writes it.",
        // Gives observedGeneration its default on a new object.
        default: {},
        ...withAtomicParts(toStructuralSchema(kind.status)),
      },
    },
  };
  return kind.rules.reduce(place, schema);
}

function withoutDefaultsAt(spec: StructuralSchema, field: string): StructuralSchema {
  const { properties = {} } = spec;
  const { [field]: schema } = properties;
  if (schema === undefined) throw new Error(`unknown field of the spec: ${field}`);
  return { ...spec, properties: { ...properties, [field]: withoutDefaults(schema) } };
}

function withoutDefaults({ default: _, ...schema }: StructuralSchema): StructuralSchema {
  return mapChildren(schema, withoutDefaults);
}

/**
 * The operator replaces each object within a status, and each condition, as a whole. So the API server does not have to
 * record the owner of each field, which saves a third of its records and a seventh of the work of a write.
 */
function withAtomicParts(status: StructuralSchema): StructuralSchema {
  const parts = Object.entries(status.properties ?? {}).map(([name, part]) => [
    name,
    part["x-kubernetes-list-type"] === "map" && part.items !== undefined
      ? { ...part, items: asAtomic(part.items) }
      : asAtomic(part),
  ]);
  return { ...status, properties: Object.fromEntries(parts) };
}

function asAtomic(schema: StructuralSchema): StructuralSchema {
  return schema.type === "object" ? { ...schema, "x-kubernetes-map-type": "atomic" } : schema;
}

function metadataSchema(maxNameLength: number | undefined): StructuralSchema {
  return maxNameLength === undefined
    ? { type: "object" }
    : {
        type: "object",
        properties: { name: { type: "string", maxLength: maxNameLength } },
      };
}

/** Returns a copy of the schema with the rule at the rule's path. */
function place(schema: StructuralSchema, { at, field, rule, message }: CelRule): StructuralSchema {
  const validation =
    field === undefined ? { rule, message } : { rule, message, fieldPath: `.${field}` };
  return placeAt(schema, at.split("."), (node) => ({
    ...node,
    [VALIDATIONS]: [...(node[VALIDATIONS] ?? []), validation],
  }));
}

function placeAt(
  node: StructuralSchema,
  [name, ...rest]: readonly string[],
  change: (node: StructuralSchema) => StructuralSchema,
): StructuralSchema {
  if (name === undefined) return change(node);
  const child = ownEntry(node.properties, name);
  if (child === undefined) throw new Error(`a rule's path names no property: ${name}`);
  return { ...node, properties: { ...node.properties, [name]: placeAt(child, rest, change) } };
}
