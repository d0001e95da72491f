/** Whether the API server would accept objects, and how it would store them. */
import { isDeepStrictEqual } from "node:util";
import { objectSchema } from "../../api/crd.ts";
import type { Kind } from "../../api/kind.ts";
import type { KindName } from "../../api/kinds.ts";
import { labels } from "../../api/meta.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import type { StructuralSchema } from "../../api/structural-schema.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { isKubeError, type KubeError } from "../../kube/errors.ts";
import { type KubeObject, keyOf, type ResourceType } from "../../kube/resource.ts";
import { ownEntry } from "../../util/own-entry.ts";
import { applied, clientSidePatch, serverSideManager } from "./apply.ts";
import type { FileObject } from "./given-objects.ts";
import { isObjectName, kindOf, typeOf } from "./kinds.ts";

export type Verdict =
  | {
      readonly kind: "Accepted";
      readonly object: FileObject;
      /** Whether only the schemas of this program were asked, for lack of permission or of the namespace. */
      readonly isBySchema: boolean;
      /** Whether the stored object is absent, has another spec, or differs in being only planned for. */
      readonly isChange: boolean;
      /** Whether Helm manages it by a record of its own, so that Helm may leave it otherwise. */
      readonly isOfHelm: boolean;
    }
  | { readonly kind: "Refused"; readonly object: FileObject; readonly message: string };

const TRIES = 3;

/**
 * Asks by a dry run of what `kubectl apply` would do, by server-side apply with force if it owns the fields. Without
 * permission for that, or in a namespace that is among `objects` and does not exist yet, the schemas of this program
 * decide. Rejects with KubeError if that is unknown.
 */
export async function judge(
  kube: KubeClient,
  object: FileObject,
  objects: readonly FileObject[],
): Promise<Verdict> {
  const type: ResourceType = typeOf(object.kind as KindName);
  // The API server would look up such a name in another path.
  if (!isObjectName(object.metadata.name)) return bySchema(object, undefined);
  for (let tries = 1; ; tries += 1) {
    const stored = await kube.get(type, keyOf(object));
    try {
      const accepted = await dryRun(kube, type, object, stored);
      return acceptedAs(accepted, { file: object, stored, isBySchema: false });
    } catch (error) {
      if (!isKubeError(error)) throw error;
      // The object was changed, created or deleted in between.
      if (CHANGED.has(error.code) && tries < TRIES) continue;
      if (lacksPermission(error) || isForNewNamespace(error, object, objects))
        return bySchema(object, stored);
      if (!REFUSED.has(error.code)) throw error;
      return { kind: "Refused", object, message: error.message };
    }
  }
}

interface Asked {
  readonly file: FileObject;
  readonly stored: (KubeObject & Pick<FileObject, "spec">) | undefined;
  readonly isBySchema: boolean;
}

function acceptedAs(object: FileObject, { file, stored, isBySchema }: Asked): Verdict {
  const isChange =
    stored === undefined ||
    !isDeepStrictEqual(stored.spec, object.spec) ||
    isPlanOnly(stored) !== isPlanOnly(object);
  const isOfHelm = stored !== undefined && mayHelmDiffer(stored, file);
  return { kind: "Accepted", object, isBySchema, isChange, isOfHelm };
}

/** Helm patches the difference to its last release, unless it applies on the server: no difference, no doubt. */
function mayHelmDiffer(stored: KubeObject & Pick<FileObject, "spec">, file: FileObject): boolean {
  if (stored.metadata.labels?.[labels.managedBy] !== "Helm") return false;
  if (serverSideManager(stored, file) !== undefined) return false;
  const [now, next] = [stored, file].map((each) => parseSpec(kindOf(file.kind), each));
  return !isDeepStrictEqual(now, next);
}

const CHANGED: ReadonlySet<string> = new Set(["Conflict", "AlreadyExists"]);
const REFUSED: ReadonlySet<string> = new Set(["Invalid", "BadRequest", "Forbidden", "NotFound"]);

async function dryRun(
  kube: KubeClient,
  type: ResourceType,
  object: FileObject,
  stored: KubeObject | undefined,
): Promise<FileObject> {
  const options = { dryRun: true, strict: true };
  if (stored === undefined) return (await kube.create(type, object, options)) as FileObject;
  const fieldManager = serverSideManager(stored, object);
  if (fieldManager !== undefined)
    return (await kube.apply(type, object, { ...options, fieldManager })) as FileObject;
  const { metadata, ...patch } = clientSidePatch(stored, object);
  const { resourceVersion } = stored.metadata;
  const change = { ...patch, metadata: { ...metadata, resourceVersion } };
  return (await kube.mergePatch(type, keyOf(object), change, options)) as FileObject;
}

/** RBAC names the verb; an admission webhook, a policy or a quota that refuses the object does not. */
function lacksPermission({ code, message }: KubeError): boolean {
  return code === "Forbidden" && /cannot (create|patch) resource/.test(message);
}

function isForNewNamespace(
  { code }: KubeError,
  { metadata }: FileObject,
  objects: readonly FileObject[],
): boolean {
  return (
    code === "NotFound" &&
    objects.some(
      ({ kind, metadata: { name } }) => kind === "Namespace" && name === metadata.namespace,
    )
  );
}

function bySchema(object: FileObject, stored: KubeObject | undefined): Verdict {
  const kind = kindOf(object.kind);
  const schema = objectSchema(kind);
  const whole = stored === undefined ? object : applied(stored, object);
  const { spec = schema.properties?.spec?.default } = whole;
  const given = { ...whole, spec };
  const problems = [
    ...nameProblems(object.metadata.name),
    ...unknownFields(schema, withoutMetadata(object)),
    ...specProblems(kind, given, stored),
  ];
  return problems.length === 0
    ? acceptedAs(given, { file: object, stored, isBySchema: true })
    : { kind: "Refused", object, message: problems.join("; ") };
}

function withoutMetadata({ metadata: _, ...rest }: FileObject): object {
  return rest;
}

function nameProblems(name: string): readonly string[] {
  return isObjectName(name)
    ? []
    : [
        `metadata.name: "${name}" is not a valid object name: use lower-case letters, digits, '-' and '.'`,
      ];
}

/** The paths of fields that the schema does not have. */
function unknownFields(schema: StructuralSchema, value: unknown, path = ""): readonly string[] {
  if (Array.isArray(value))
    return value.flatMap((item, index) =>
      schema.items === undefined ? [] : unknownFields(schema.items, item, `${path}[${index}]`),
    );
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const child = ownEntry(schema.properties, name) ?? schema.additionalProperties;
    if (child !== undefined) return unknownFields(child, field, at);
    return schema.properties === undefined ? [] : [`unknown field "${at}"`];
  });
}

function specProblems(
  kind: Kind,
  given: FileObject,
  stored: KubeObject | undefined,
): readonly string[] {
  const parsed = parseSpec(kind, given);
  if (!parsed.ok) return [parsed.message];
  const before = stored && parseSpec(kind, stored);
  if (!before?.ok) return [];
  // Every rule about a change forbids it for one field.
  return kind.rules.flatMap(({ at, field = "", message }) => {
    const path = `${at}.${field}`;
    const [now, then] = [parsed, before].map((each) => valueAt({ spec: each.spec }, path));
    return isDeepStrictEqual(now, then) ? [] : [`${path}: ${message}`];
  });
}

function valueAt(object: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>(
      (value, name) =>
        typeof value === "object" && value !== null ? ownEntry(value as never, name) : undefined,
      object,
    );
}
