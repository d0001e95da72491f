/** Watches: what happened since a version, and from then on. */
import { apiVersionOf } from "../../../src/kube/client/api-path.ts";
import { ApiFailure, badRequest, expired, versionTooLarge } from "./failure.ts";
import { matcherOf, shown } from "./reads.ts";
import type { ApiRequest } from "./request.ts";
import type { Change, Storage } from "./storage.ts";
import { type Tree, treeAt } from "./tree.ts";

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Tree;
}

export interface Watch {
  /** What is there to be sent when the watch begins. */
  readonly first: readonly WatchEvent[];
  /** What a server that is behind will only tell later. */
  readonly missed: readonly WatchEvent[];
  /** What a change means for this watch, if anything. */
  translate(change: Change): WatchEvent | undefined;
  bookmark(): WatchEvent;
  readonly timeoutMs: number;
}

/** Throws where the server refuses the request as a whole. `behind`: how many revisions it does not know of yet. */
export function openWatch(storage: Storage, request: ApiRequest, behind = 0): Watch {
  const { query, kind } = request;
  const version = query.get("resourceVersion");
  const initial = query.get("sendInitialEvents") === "true";
  if (initial && query.get("resourceVersionMatch") !== "NotOlderThan") {
    throw new ApiFailure(
      422,
      "Invalid",
      "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
    );
  }
  const matches = matcherOf(request);
  const translate = (change: Change) => translated(request, matches, change);
  const isList = initial || version === null || version === "" || version === "0";
  const known = Math.max(storage.revision - behind, storage.compacted);
  const first = isList
    ? initialEvents(storage, request, matches, initial, known)
    : since(storage, version, translate);
  return {
    first,
    missed: isList ? storage.since(known).flatMap((change) => translate(change) ?? []) : [],
    translate,
    bookmark: () => bookmarkOf(kind.type, storage.revision),
    timeoutMs: Number(query.get("timeoutSeconds") ?? 1_800) * 1_000,
  };
}

function initialEvents(
  storage: Storage,
  request: ApiRequest,
  matches: (object: Tree) => boolean,
  withEnd: boolean,
  revision: number,
): readonly WatchEvent[] {
  const { kind, namespace } = request;
  const added = storage
    .listAt(revision, kind, namespace)
    .filter(matches)
    .map((object): WatchEvent => ({ type: "ADDED", object: shown(request, object) }));
  if (!withEnd) return added;
  return [...added, bookmarkOf(kind.type, revision, true)];
}

function since(
  storage: Storage,
  version: string,
  translate: (change: Change) => WatchEvent | undefined,
): readonly WatchEvent[] {
  if (!/^\d+$/.test(version)) throw badRequest(`invalid resource version ${version}`);
  const revision = Number(version);
  if (revision > storage.revision) throw versionTooLarge(version, String(storage.revision));
  if (revision < storage.compacted)
    return [errorEvent(expired(`too old resource version: ${version}`))];
  return storage.since(revision).flatMap((change) => translate(change) ?? []);
}

/** An object that comes to match appears, one that ceases to match vanishes. */
function translated(
  request: ApiRequest,
  matches: (object: Tree) => boolean,
  change: Change,
): WatchEvent | undefined {
  if (change.kind !== request.kind) return undefined;
  const { namespace } = treeAt(change.object, "metadata");
  if (request.namespace !== undefined && namespace !== request.namespace) return undefined;
  const before = change.previous !== undefined && matches(change.previous);
  const after = change.type !== "DELETED" && matches(change.object);
  if (!before && !after) return undefined;
  const object = shown(request, change.object);
  if (!before) return { type: "ADDED", object };
  return { type: after ? "MODIFIED" : "DELETED", object };
}

function bookmarkOf(type: ApiRequest["kind"]["type"], revision: number, ends = false): WatchEvent {
  return {
    type: "BOOKMARK",
    object: {
      kind: type.kind,
      apiVersion: apiVersionOf(type),
      metadata: {
        resourceVersion: String(revision),
        ...(ends ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
      },
    },
  };
}

export function errorEvent(failure: ApiFailure): WatchEvent {
  return { type: "ERROR", object: failure.body };
}

export function toLine(event: WatchEvent): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`);
}
