/** The kinds that the modelled server knows: our own, as their CRDs declare them, and the core's that are used. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { ResourceType } from "../../src/kube/resource.ts";
import {
  configMapType,
  eventType,
  leaseType,
  namespaceType,
  podType,
  rolloutType,
  secretType,
  workloadTypes,
} from "../../src/kube/resource-types.ts";
import type { Schema } from "./schema.ts";

export interface ServedKind {
  readonly type: ResourceType;
  readonly schema: Schema;
  /** Whether pruning, defaults and validation follow the schema: custom resources. */
  readonly custom: boolean;
  readonly hasStatus: boolean;
  readonly hasGeneration: boolean;
}

interface Crd {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly [
      { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } },
    ];
  };
}

/** What server-side apply has to know about metadata. */
const METADATA: Schema = {
  type: "object",
  properties: {
    finalizers: { type: "array", "x-kubernetes-list-type": "set" },
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
    },
  },
};

const CRDS = join(import.meta.dirname, "../../crds");

let customKinds: readonly ServedKind[] | undefined;

/** Read once: every simulated world begins with them. */
export function readCustomKinds(): readonly ServedKind[] {
  customKinds ??= readdirSync(CRDS)
    .sort()
    .map((file) => toKind(parse(readFileSync(join(CRDS, file), "utf8")) as Crd));
  return customKinds;
}

function toKind({ spec }: Crd): ServedKind {
  const [version] = spec.versions;
  const schema = version.schema.openAPIV3Schema;
  return {
    type: {
      group: spec.group,
      version: version.name,
      plural: spec.names.plural,
      kind: spec.names.kind,
      namespaced: spec.scope === "Namespaced",
    },
    schema: { ...schema, properties: { ...schema.properties, metadata: METADATA } },
    custom: true,
    hasStatus: true,
    hasGeneration: true,
  };
}

function coreKind(type: ResourceType, fields: Readonly<Record<string, Schema>> = {}): ServedKind {
  return {
    type,
    schema: { properties: { metadata: METADATA, ...fields } },
    custom: false,
    hasStatus: false,
    hasGeneration: false,
  };
}

export const coreKinds: readonly ServedKind[] = [
  coreKind(secretType as ResourceType),
  coreKind(configMapType as ResourceType),
  coreKind(namespaceType as ResourceType),
  coreKind(leaseType as ResourceType),
  coreKind(eventType as ResourceType),
  coreKind(podType as ResourceType),
  ...[...Object.values(workloadTypes), rolloutType].map((type) => coreKind(type as ResourceType)),
];

const published = new WeakMap<readonly ServedKind[], string>();

/** The schemas as `/openapi/v3` answers them, all of one group and version, and without descriptions. */
export function publishedSchemas(served: readonly ServedKind[]): string {
  const known = published.get(served) ?? JSON.stringify(toOpenApi(served), withoutDescriptions);
  published.set(served, known);
  return known;
}

function toOpenApi(served: readonly ServedKind[]) {
  const schemas = served
    .filter(({ custom }) => custom)
    .map(({ type: { group, version, kind }, schema }) => [
      `${group}.${version}.${kind}`,
      { ...schema, "x-kubernetes-group-version-kind": [{ group, version, kind }] },
    ]);
  return { openapi: "3.0.0", components: { schemas: Object.fromEntries(schemas) } };
}

function withoutDescriptions(name: string, value: unknown): unknown {
  return name === "description" && typeof value === "string" ? undefined : value;
}
