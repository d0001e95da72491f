/** Watches: what happened since a version, and from then on. */
import { apiVersionOf } from "../../src/kube/client/api-path.ts";
import { ApiFailure, expired, versionTooLarge } from "./failure.ts";
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
  /** None while the server is not past the version from which the watch began. */
  bookmark(): WatchEvent | undefined;
  readonly timeoutMs: number;
}

/** Throws where the server refuses the request as a whole. `behind`: how many revisions it does not know of yet. */
export function openWatch(storage: Storage, request: ApiRequest, behind = 0): Watch {
  const { query } = request;
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
  const isList = initial || version === null || version === "" || version === "0";
  const after = parseVersion(version);
  const translate = (change: Change) =>
    change.revision > after ? translated(request, matches, change) : undefined;
  const known = Math.max(storage.revision - behind, storage.compacted);
  const tooLarge = initial && after > storage.revision;
  return {
    first: tooLarge
      ? [errorEvent(versionTooLarge(String(version), String(storage.revision)))]
      : isList
        ? initialEvents(storage, request, matches, initial, known)
        : since(storage, after, translate),
    missed: isList ? storage.since(known).flatMap((change) => translate(change) ?? []) : [],
    translate,
    bookmark: () => (storage.revision >= after ? bookmarkOf(request, storage.revision) : undefined),
    timeoutMs: Number(query.get("timeoutSeconds") ?? 1_800) * 1_000,
  };
}

/** The revision after which changes are told. A watch of one that is yet to come waits for it. */
function parseVersion(version: string | null): number {
  if (version === null || version === "") return 0;
  if (!/^\d+$/.test(version)) throw new ApiFailure(500, "", `invalid resource version ${version}`);
  return Number(version);
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
  return [...added, bookmarkOf(request, revision, true)];
}

function since(
  storage: Storage,
  revision: number,
  translate: (change: Change) => WatchEvent | undefined,
): readonly WatchEvent[] {
  if (revision < storage.compacted)
    return [errorEvent(expired(`too old resource version: ${revision}`))];
  return storage.since(revision).flatMap((change) => translate(change) ?? []);
}

/** An object that comes to match appears, one that ceases to match vanishes as it was when it last matched. */
function translated(
  request: ApiRequest,
  matches: (object: Tree) => boolean,
  { kind, type, object, previous, revision }: Change,
): WatchEvent | undefined {
  if (kind !== request.kind) return undefined;
  const { namespace } = treeAt(object, "metadata");
  if (request.namespace !== undefined && namespace !== request.namespace) return undefined;
  const before = previous !== undefined && matches(previous);
  const after = type !== "DELETED" && matches(object);
  if (!before && !after) return undefined;
  if (!before) return { type: "ADDED", object: shown(request, object) };
  if (after) return { type: "MODIFIED", object: shown(request, object) };
  const metadata = { ...treeAt(previous, "metadata"), resourceVersion: String(revision) };
  return { type: "DELETED", object: shown(request, { ...previous, metadata }) };
}

function bookmarkOf(request: ApiRequest, revision: number, ends = false): WatchEvent {
  const { type } = request.kind;
  const object = {
    kind: type.kind,
    apiVersion: apiVersionOf(type),
    metadata: {
      resourceVersion: String(revision),
      ...(ends ? { annotations: { "k8s.io/initial-events-end": "true" } } : {}),
    },
  };
  return { type: "BOOKMARK", object: shown(request, object) };
}

export function errorEvent(failure: ApiFailure): WatchEvent {
  return { type: "ERROR", object: failure.body };
}

export function toLine(event: WatchEvent): Uint8Array {
  return Buffer.from(`${JSON.stringify(event)}\n`);
}
