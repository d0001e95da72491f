/** Values that the chart's schema accepts, drawn from the schema itself. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { CHART } from "../../../scripts/chart/helm.ts";

interface Schema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly uniqueItems?: boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema & { readonly not?: { readonly enum: readonly string[] } };
  readonly additionalProperties?: boolean | Schema;
  readonly then?: { readonly properties: { readonly spec: Schema } };
}

export const schema = JSON.parse(readFileSync(join(CHART, "values.schema.json"), "utf8")) as Schema;

/** Texts that YAML takes for something else, if they are not quoted. */
const TRICKY = [
  "1234",
  "0123",
  "12e4",
  "1e3",
  "0x1f",
  "1_000",
  "on",
  "no",
  "y",
  "true",
  "null",
  "1.5",
];
const UNTIDY = [
  "",
  "~",
  "a: b",
  "- a",
  "#a",
  "a #b",
  '"',
  "'",
  "{a",
  "[a",
  "*a",
  "&a",
  "%a",
  "a\nb",
  " a ",
  "{{ .Values }}",
];

/** Those that the API server of a test has. */
export const NAMESPACES = ["1234", "0123", "12e4", "on", "true", "null", "team-a"];

/** What the schema does not describe, because it is Kubernetes' own; and what only the API server can judge. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  affinity: [{}, { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }],
  authorization: [{}, { credentials: { name: "1234", key: "token" } }],
  cidrs: [[], ["10.0.0.0/8", "2001:db8::/32"], ["::/0"]],
  dnsConfig: [{}, { options: [{ name: "ndots", value: "2" }] }, { searches: ["1234"] }],
  dnsPolicy: ["", "ClusterFirst", "Default"],
  egress: [[], [{ to: [{ ipBlock: { cidr: "192.0.2.7/32" } }] }]],
  extraContainers: [[], [{ name: "0123", image: "images.example.com/a" }]],
  extraEnv: [[], [{ name: "A", value: "1234" }]],
  extraInitContainers: [[], [{ name: "12e4", image: "images.example.com/a" }]],
  extraObjects: [
    [],
    [
      {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "1234", namespace: "team-a" },
        data: { a: "on" },
      },
    ],
    [
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name | quote }}\n  namespace: team-a\n",
    ],
  ],
  extraVolumeMounts: [[], [{ name: "api-access", mountPath: "/a" }]],
  extraVolumes: [[{ name: "a", emptyDir: {} }]],
  from: [[], [{ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "1234" } } }]],
  global: [{}, { a: "b" }],
  hostAliases: [[], [{ ip: "192.0.2.1", hostnames: ["console.example.com"] }]],
  metricRelabelings: [[], [{ regex: "nodejs_.*", action: "drop" }]],
  podSecurityContext: [{}, { runAsNonRoot: true, runAsUser: 1234 }],
  relabelings: [[], [{ sourceLabels: ["a"], targetLabel: "node" }]],
  resources: [
    {},
    { limits: { cpu: "500m" } },
    { limits: { cpu: 1, memory: "1Gi" } },
    { requests: { cpu: 0.1 } },
  ],
  securityContext: [{}, { readOnlyRootFilesystem: true }],
  strategy: [{}, { type: "Recreate", rollingUpdate: null }, { rollingUpdate: { maxSurge: "50%" } }],
  tolerations: [[], [{ key: "1234", operator: "Equal", value: "on" }]],
  topologySpreadConstraints: [
    [],
    [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule" }],
  ],
};

/** A connection that the API server accepts; random specs are its schema's matter. */
const CONNECTION = {
  baseURL: "https://console.example.com.:8443",
  orgId: "1042",
  projectId: "77",
  domainName: "on",
  credentials: { login: { secretRef: { name: "1234" } } },
  grants: [{ name: "12e4", namespaces: { names: ["1234"] }, policyIds: ["1001"] }],
};

/** A few values beside the defaults, and null for those that may be null. */
export const anyValues: fc.Arbitrary<Readonly<Record<string, unknown>>> = objectOf(
  schema,
  0.15,
).map(({ clusterConnection, ...values }) => ({
  crds: { install: false },
  ...values,
  ...(clusterConnection === undefined
    ? {}
    : { clusterConnection: { create: true, name: "1234", spec: CONNECTION } }),
}));

/** Every name of a release that helm accepts. */
export const anyRelease = fc.oneof(
  fc.constantFrom("iam-operator", ...TRICKY.filter((each) => /^[a-z0-9.]+$/.test(each))),
  fc.stringMatching(/^[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?([.][a-z0-9]{1,20})?$/),
);

function arbitraryOf(of: Schema, name: string): fc.Arbitrary<unknown> {
  const samples = SAMPLES[name];
  if (samples !== undefined) return nullable(of, fc.constantFrom(...samples));
  if (of.enum !== undefined) return fc.constantFrom(...of.enum);
  const types = [of.type ?? "object"].flat().filter((type) => type !== "null");
  return nullable(of, fc.oneof(...types.map((type) => ofType(type, of, name))));
}

function nullable(of: Schema, arbitrary: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  const isNullable = [of.type].flat().includes("null");
  return isNullable ? fc.option(arbitrary, { freq: 3 }) : arbitrary;
}

function ofType(type: string, of: Schema, name: string): fc.Arbitrary<unknown> {
  if (type === "boolean") return fc.boolean();
  if (type === "integer")
    return fc.integer({ min: of.minimum ?? 0, max: Math.min(of.maximum ?? 2_000_000, 2_000_000) });
  if (type === "number")
    return fc.constantFrom(0, 0.5, 1).filter((each) => each >= (of.minimum ?? 0));
  if (type === "string") return text(of, name);
  if (type === "array") {
    const bounds = { minLength: of.minItems ?? 0, maxLength: 3 };
    const { items = {} } = of;
    const item =
      items.properties === undefined ? arbitraryOf(items, name) : objectOf(items, 0.4, true);
    return of.uniqueItems ? fc.uniqueArray(item, bounds) : fc.array(item, bounds);
  }
  if (of.properties !== undefined) return objectOf(of, 0.4);
  return typeof of.additionalProperties === "object"
    ? fc.dictionary(keyOf(of), arbitraryOf(of.additionalProperties, ""), { maxKeys: 3 })
    : fc.constant({});
}

/** Only some of the properties: the chart has a default for each that is required, except in a list. */
function objectOf(
  of: Schema,
  share: number,
  isInList = false,
): fc.Arbitrary<Record<string, unknown>> {
  const properties = Object.entries(of.properties ?? {});
  return fc
    .tuple(
      fc.record(
        Object.fromEntries(properties.map(([name, each]) => [name, arbitraryOf(each, name)])),
      ),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), {
        minLength: properties.length,
        maxLength: properties.length,
      }),
    )
    .map(([all, draws]) =>
      Object.fromEntries(
        Object.entries(all).filter(
          ([name], index) =>
            (isInList && of.required?.includes(name)) || (draws[index] ?? 0) > 1 - share,
        ),
      ),
    );
}

function keyOf({ propertyNames = {} }: Schema): fc.Arbitrary<string> {
  const taken = propertyNames.not?.enum ?? [];
  return text(
    { ...propertyNames, maxLength: Math.min(propertyNames.maxLength ?? 60, 60) },
    "",
  ).filter(
    (key) =>
      !taken.includes(key) && !key.startsWith("kubernetes.io/") && !key.startsWith("node-role"),
  );
}

function text(of: Schema, name: string): fc.Arbitrary<string> {
  const { pattern, minLength = 0, maxLength = 200 } = of;
  const isFit = (value: string) =>
    value.length >= minLength &&
    value.length <= maxLength &&
    (pattern === undefined || new RegExp(pattern).test(value));
  if (/namespaces?$|^namespaceOverride$/.test(name))
    return fc.constantFrom(...NAMESPACES, "").filter(isFit);
  const chosen = [...TRICKY, ...(pattern === undefined ? UNTIDY : [])].filter(isFit);
  const drawn =
    pattern === undefined ? fc.string() : fc.stringMatching(new RegExp(pattern), { size: "small" });
  return fc
    .oneof(...(chosen.length === 0 ? [] : [fc.constantFrom(...chosen)]), drawn)
    .filter(isFit);
}
