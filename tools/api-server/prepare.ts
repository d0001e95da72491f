/** What the server makes of an object before it caches it: pruned, filled in, checked. */
import { apiVersionOf } from "../../src/kube/client/api-path.ts";
import { badRequest, invalid } from "./failure.ts";
import type { ServedKind } from "./kinds.ts";
import { problemOf, prune, withDefaults } from "./schema.ts";
import { isSame, isTree, listAt, type Tree, textAt, treeAt } from "./tree.ts";

/** Refuses a body that names another kind than its path. */
export function checkType({ type }: ServedKind, body: Tree): void {
  const { apiVersion = apiVersionOf(type), kind = type.kind } = body;
  if (apiVersion !== apiVersionOf(type) || kind !== type.kind) {
    throw badRequest("the API version or kind in the data does not match the expected one");
  }
}

/** As it would be stored, but for what the server alone says about it. */
export function prepared(kind: ServedKind, object: Tree, what: string): Tree {
  const typed: Tree = { ...object, apiVersion: apiVersionOf(kind.type), kind: kind.type.kind };
  const result = kind.custom ? customObject(kind, typed) : coreObject(kind, typed);
  result.metadata = tidyMetadata(treeAt(result, "metadata"));
  const problem =
    metadataProblem(result) ?? (kind.custom ? problemOf(kind.schema, result) : undefined);
  if (problem !== undefined) throw invalid(what, problem);
  return result;
}

function customObject({ schema }: ServedKind, { apiVersion, kind, metadata, ...body }: Tree): Tree {
  const pruned = withDefaults(schema, prune(schema, body));
  return { apiVersion, kind, metadata, ...(isTree(pruned) ? pruned : {}) };
}

function coreObject({ type }: ServedKind, object: Tree): Tree {
  if (type.kind === "Secret") return secret(object);
  if (type.kind === "Namespace") return namespace(object);
  return object;
}

function secret({ stringData, data, ...rest }: Tree): Tree {
  const written = Object.entries(isTree(stringData) ? stringData : {}).map(([name, value]) => [
    name,
    Buffer.from(String(value)).toString("base64"),
  ]);
  const all = { ...(isTree(data) ? data : {}), ...Object.fromEntries(written) };
  return {
    type: "Opaque",
    ...rest,
    ...(Object.keys(all).length > 0 ? { data: all } : {}),
  };
}

function namespace(object: Tree): Tree {
  const metadata = treeAt(object, "metadata");
  const labels = { ...treeAt(metadata, "labels"), "kubernetes.io/metadata.name": metadata.name };
  return {
    spec: { finalizers: ["kubernetes"] },
    status: { phase: "Active" },
    ...object,
    metadata: { ...metadata, labels } as Tree,
  };
}

/** Empty maps and lists of metadata are not kept. */
function tidyMetadata(metadata: Tree): Tree {
  const result: Tree = { ...metadata };
  delete result.managedFields;
  for (const name of ["labels", "annotations"]) {
    if (isTree(result[name]) && Object.keys(result[name]).length === 0) delete result[name];
  }
  for (const name of ["finalizers", "ownerReferences"]) {
    if (result[name] === null || (Array.isArray(result[name]) && result[name].length === 0)) {
      delete result[name];
    }
  }
  return result;
}

const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/;

function metadataProblem(object: Tree): string | undefined {
  const metadata = treeAt(object, "metadata");
  if (!NAME.test(textAt(metadata, "name") ?? "")) return "metadata.name: Invalid value";
  const labels = Object.values(treeAt(metadata, "labels"));
  if (labels.some((value) => !LABEL_VALUE.test(String(value))))
    return "metadata.labels: Invalid value";
  const owners = listAt(metadata, "ownerReferences");
  if (owners.some((owner) => !isTree(owner) || !owner.uid))
    return "metadata.ownerReferences: Invalid";
  return undefined;
}

/** What may not change between two versions. */
export function checkTransition(kind: ServedKind, old: Tree, next: Tree, what: string): void {
  const before = treeAt(old, "metadata");
  const had = new Set(listAt(before, "finalizers"));
  const added = listAt(treeAt(next, "metadata"), "finalizers").filter((each) => !had.has(each));
  if (before.deletionTimestamp !== undefined && added.length > 0) {
    throw invalid(
      what,
      "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted",
      "metadata.finalizers",
    );
  }
  if (kind.type.kind !== "Secret") return;
  if (old.type !== next.type) throw invalid(what, "type: field is immutable", "type");
  if (old.immutable !== true) return;
  if (next.immutable !== true || !isSame(old.data, next.data)) {
    throw invalid(what, "data: field is immutable when `immutable` is set", "data");
  }
}
