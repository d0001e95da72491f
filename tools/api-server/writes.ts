/** create, replace, apply, patch, delete: each decided in one synchronous step. */
import { mergePatched } from "../../src/util/merge-patch.ts";
import { type Instant, toIso8601 } from "../../src/util/time.ts";
import {
  ApiFailure,
  alreadyExists,
  badRequest,
  conflict,
  forbidden,
  invalid,
  notFound,
} from "./failure.ts";
import { SYSTEM_METADATA } from "./field-set.ts";
import type { ServedKind } from "./kinds.ts";
import { applied, isSameOwners, type Owned, updated, withUnknownOwner } from "./ownership.ts";
import { checkTransition, checkType, prepared } from "./prepare.ts";
import { nameOf, versionOf } from "./reads.ts";
import type { ApiRequest } from "./request.ts";
import { untyped } from "./schema.ts";
import type { Entry, Storage } from "./storage.ts";
import { clone, isSame, listAt, type Tree, textAt, treeAt } from "./tree.ts";

export interface WriteContext {
  readonly storage: Storage;
  readonly now: () => Instant;
  readonly newUid: () => string;
  readonly namespaceKind: ServedKind;
  /** Quota and admission: throws to refuse what would be stored; dry runs are asked as well. */
  readonly admit: (request: ApiRequest, object: Tree, old: Tree | undefined) => void;
}

export interface Written {
  readonly status: number;
  readonly object: Tree;
}

export function create(context: WriteContext, request: ApiRequest): Written {
  const body = bodyOf(request);
  checkType(request.kind, body);
  const metadata = treeAt(body, "metadata");
  checkPlace(request, metadata);
  const name = textAt(metadata, "name");
  if (name === undefined) throw invalid(nameOf(request), "metadata.name: Required value");
  return store(context, { ...request, name }, body, updateOwner(request));
}

/** PUT. */
export function replace(context: WriteContext, request: ApiRequest): Written {
  const body = bodyOf(request);
  checkType(request.kind, body);
  const metadata = treeAt(body, "metadata");
  checkPlace(request, metadata);
  if (metadata.name !== request.name)
    throw badRequest("the name of the object does not match the URL");
  const live = existing(context, request);
  checkUid(request, live, metadata);
  const version = textAt(metadata, "resourceVersion");
  if (version === undefined && request.kind.custom) {
    throw invalid(
      nameOf(request),
      "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
      "metadata.resourceVersion",
    );
  }
  checkVersion(request, live, version);
  return change(context, request, live, body, (old, next) =>
    updated(request.kind.schema, old, next, updateOwner(request)),
  );
}

export function patch(context: WriteContext, request: ApiRequest): Written {
  const live = existing(context, request);
  const body = bodyOf(request);
  const metadata = treeAt(body, "metadata");
  checkVersion(request, live, textAt(metadata, "resourceVersion"));
  if (!request.status) checkUidUnchanged(request, live, metadata);
  const next = mergePatched(live.object, body) as Tree;
  return change(context, request, live, next, (old, object) =>
    updated(request.kind.schema, old, object, updateOwner(request)),
  );
}

export function apply(context: WriteContext, request: ApiRequest): Written {
  const body = bodyOf(request);
  checkType(request.kind, body);
  const metadata = treeAt(body, "metadata");
  checkPlace(request, metadata);
  if (request.query.get("fieldManager") === null)
    throw badRequest("fieldManager is required for apply patch");
  // Who conflicts with whom is not modelled.
  if (request.query.get("force") !== "true") throw badRequest("only a forced apply is served here");
  checkTyped(request, body);
  const owner = `Apply:${request.fieldManager}${request.status ? ":status" : ""}`;
  const live = find(context, request);
  if (live === undefined) {
    if (request.status) throw notFound(nameOf(request));
    if (metadata.uid !== undefined)
      throw conflict(nameOf(request), "uid mismatch: no existing object was found");
    return store(
      context,
      request,
      { ...body, metadata: { ...metadata, name: request.name ?? "" } },
      owner,
    );
  }
  checkVersion(request, live, textAt(metadata, "resourceVersion"));
  const wanted = meantFor(request, body);
  const known = withUnknownOwner(request.kind.schema, live);
  if (!request.status) checkUidUnchanged(request, live, metadata);
  const { object, owners } = applied(request.kind.schema, known, wanted, owner);
  return changeTo(context, request, live, {
    object: prepared(request.kind, object, nameOf(request)),
    owners,
  });
}

/** Answers the object where it stays for its finalizers, and a Status where it is gone. */
export function remove(context: WriteContext, request: ApiRequest): Written {
  const live = existing(context, request);
  const metadata = treeAt(live.object, "metadata");
  const wanted = treeAt(request.body ?? {}, "preconditions");
  for (const field of ["uid", "resourceVersion"] as const) {
    if (wanted[field] !== undefined && wanted[field] !== metadata[field]) {
      throw conflict(nameOf(request), `the ${field} in the precondition is another one`);
    }
  }
  const isHeld =
    listAt(metadata, "finalizers").length > 0 || request.kind.type.kind === "Namespace";
  if (!isHeld) {
    if (!request.dryRun) context.storage.remove(live);
    return { status: 200, object: success(request, live.object) };
  }
  if (metadata.deletionTimestamp !== undefined) return { status: 200, object: live.object };
  const object = marked(live.object, context.now());
  if (request.dryRun) return { status: 200, object };
  return {
    status: 200,
    object: context.storage.put({ ...live, object, hasUnstoredStatus: false }).object,
  };
}

function marked(object: Tree, now: Instant): Tree {
  const metadata = treeAt(object, "metadata");
  const { generation } = metadata;
  const isNamespace = object.kind === "Namespace";
  return {
    ...object,
    ...(isNamespace ? { status: { phase: "Terminating" } } : {}),
    metadata: {
      ...metadata,
      deletionTimestamp: toIso8601(now),
      ...(isNamespace ? {} : { deletionGracePeriodSeconds: 0 }),
      ...(typeof generation === "number" ? { generation: generation + 1 } : {}),
    },
  };
}

function success({ kind, name }: ApiRequest, object: Tree): Tree {
  const { group, plural } = kind.type;
  const { uid } = treeAt(object, "metadata");
  const details = { name: name ?? "", ...(group === "" ? {} : { group }), kind: plural, uid };
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details };
}

/** Caches a new object. */
function store(context: WriteContext, request: ApiRequest, body: Tree, owner: string): Written {
  const { kind, name = "", namespace } = request;
  checkNamespace(context, request);
  const { status: _, ...withoutStatus } = body;
  const wanted = prepared(kind, kind.hasStatus ? withoutStatus : body, nameOf(request));
  const { deletionTimestamp, deletionGracePeriodSeconds, resourceVersion, ...metadata } = treeAt(
    wanted,
    "metadata",
  );
  const object: Tree = {
    ...wanted,
    metadata: {
      ...metadata,
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: context.newUid(),
      creationTimestamp: toIso8601(context.now()),
      ...(kind.hasGeneration ? { generation: 1 } : {}),
    },
  };
  context.admit(request, object, undefined);
  if (find(context, request) !== undefined) throw alreadyExists(nameOf(request));
  const nothing: Owned = { object: {}, owners: new Map() };
  const { owners } = owner.startsWith("Apply:")
    ? applied(kind.schema, nothing, meantFor(request, body), owner)
    : updated(kind.schema, nothing, object, owner);
  const entry: Entry = { kind, object, owners, hasUnstoredStatus: kind.hasStatus };
  return { status: 201, object: request.dryRun ? object : context.storage.put(entry).object };
}

function change(
  context: WriteContext,
  request: ApiRequest,
  live: Entry,
  next: Tree,
  own: (old: Owned, next: Tree) => Owned,
): Written {
  const wanted = prepared(request.kind, combined(request, live.object, next), nameOf(request));
  return changeTo(context, request, live, own(live, wanted));
}

/** `next` as it is after `prepared`. */
function changeTo(context: WriteContext, request: ApiRequest, live: Entry, next: Owned): Written {
  const { kind } = request;
  const wanted = combined(request, live.object, next.object);
  checkTransition(kind, live.object, wanted, nameOf(request));
  const object = withGeneration(kind, live.object, wanted);
  context.admit(request, object, live.object);
  const isUnchanged = isSame(object, live.object) && isSameOwners(next.owners, live.owners);
  if (isUnchanged && live.hasUnstoredStatus !== true) {
    return { status: 200, object: live.object };
  }
  if (request.dryRun) return { status: 200, object };
  const metadata = treeAt(object, "metadata");
  const entry: Entry = { kind, object, owners: next.owners };
  const isGone =
    metadata.deletionTimestamp !== undefined && listAt(metadata, "finalizers").length === 0;
  if (isGone && object.kind !== "Namespace") {
    // The event shows the object as it was last stored; the answer as it was meant, with the version before.
    context.storage.remove(live);
    return { status: 200, object };
  }
  return { status: 200, object: context.storage.put(entry).object };
}

/** The part of `next` that the request may change, the rest as it was. */
function combined({ kind, status }: ApiRequest, old: Tree, next: Tree): Tree {
  if (status) {
    const { status: _, ...rest } = old;
    return next.status === undefined ? rest : { ...rest, status: next.status };
  }
  const { status: _, ...rest } = next;
  const kept = kind.hasStatus ? old.status : next.status;
  return {
    ...rest,
    ...(kept === undefined ? {} : { status: clone(kept) }),
    metadata: { ...treeAt(next, "metadata"), ...systemMetadata(old) },
  };
}

function systemMetadata(object: Tree): Tree {
  const metadata = treeAt(object, "metadata");
  return Object.fromEntries(
    SYSTEM_METADATA.flatMap((name) =>
      metadata[name] === undefined ? [] : [[name, metadata[name]]],
    ),
  );
}

function withGeneration({ hasGeneration }: ServedKind, old: Tree, next: Tree): Tree {
  if (!hasGeneration) return next;
  const spec = ({ metadata: _, status: __, ...rest }: Tree) => rest;
  const { generation } = treeAt(old, "metadata");
  if (isSame(spec(old), spec(next)) || typeof generation !== "number") return next;
  return { ...next, metadata: { ...treeAt(next, "metadata"), generation: generation + 1 } };
}

/** What an apply says on this path: the status alone, or everything but. */
function meantFor({ kind, status }: ApiRequest, body: Tree): Tree {
  if (!kind.hasStatus) return body;
  const { status: wanted, ...rest } = body;
  if (!status) return rest;
  return wanted === undefined ? {} : { status: wanted };
}

function updateOwner({ fieldManager, status }: ApiRequest): string {
  return `Update:${fieldManager}${status ? ":status" : ""}`;
}

function bodyOf({ body }: ApiRequest): Tree {
  if (body === undefined) throw badRequest("there is no body");
  return body;
}

function checkPlace({ namespace, kind }: ApiRequest, metadata: Tree): void {
  const given = textAt(metadata, "namespace");
  if (!kind.type.namespaced || given === undefined) return;
  if (given !== namespace) {
    throw badRequest(
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
}

function checkNamespace({ storage, namespaceKind }: WriteContext, request: ApiRequest): void {
  const { kind, namespace = "" } = request;
  if (!kind.type.namespaced) return;
  const found = storage.get(namespaceKind, "", namespace);
  if (found === undefined) throw notFound(`namespaces "${namespace}"`);
  if (treeAt(found.object, "metadata").deletionTimestamp === undefined) return;
  throw forbidden(
    `${nameOf(request)} is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
    { causes: [{ reason: "NamespaceTerminating", message: "the namespace is being terminated" }] },
  );
}

function find(
  { storage }: WriteContext,
  { kind, namespace = "", name = "" }: ApiRequest,
): Entry | undefined {
  return storage.get(kind, namespace, name);
}

function existing(context: WriteContext, request: ApiRequest): Entry {
  const found = find(context, request);
  if (found === undefined) throw notFound(nameOf(request));
  return found;
}

function checkVersion(request: ApiRequest, live: Entry, wanted: string | undefined): void {
  if (wanted === undefined || wanted === "" || wanted === versionOf(live.object)) return;
  throw conflict(
    nameOf(request),
    "the object has been modified; please apply your changes to the latest version",
  );
}

function checkUid(request: ApiRequest, live: Entry, metadata: Tree): void {
  const { uid } = treeAt(live.object, "metadata");
  if (metadata.uid === undefined || metadata.uid === "" || metadata.uid === uid) return;
  throw conflict(nameOf(request), "Precondition failed: UID in precondition is another one");
}

/** Of a patch, another UID is a change of an immutable field. */
function checkUidUnchanged(request: ApiRequest, live: Entry, metadata: Tree): void {
  const { uid } = treeAt(live.object, "metadata");
  if (metadata.uid === undefined || metadata.uid === uid) return;
  throw new ApiFailure(
    422,
    "Invalid",
    `${nameOf(request)} is invalid: metadata.uid: field is immutable`,
    {
      causes: [
        { reason: "FieldValueInvalid", field: "metadata.uid", message: "field is immutable" },
      ],
    },
  );
}

/** An apply is typed: what does not fit the schema is an error, and an odd one at that. */
function checkTyped({ kind }: ApiRequest, { metadata: _, ...body }: Tree): void {
  const why = kind.custom ? untyped(kind.schema, body) : undefined;
  if (why === undefined) return;
  throw new ApiFailure(500, "", `failed to create typed patch object: ${why}`);
}
