/** get and list. */

import { apiVersionOf } from "../../src/kube/client/api-path.ts";
import { parseLabelSelector } from "../../src/kube/label-selector.ts";
import { badRequest, expired, notFound, versionTooLarge } from "./failure.ts";
import type { ApiRequest } from "./request.ts";
import type { Entry, Storage } from "./storage.ts";
import { isTree, type Tree, textAt, treeAt } from "./tree.ts";

export function nameOf({ kind, name }: Pick<ApiRequest, "kind" | "name">): string {
  const { group, plural } = kind.type;
  return `${plural}${group === "" ? "" : `.${group}`} "${name ?? ""}"`;
}

export function get(storage: Storage, request: ApiRequest): Tree {
  const entry = storage.get(request.kind, request.namespace ?? "", request.name ?? "");
  if (entry === undefined) throw notFound(nameOf(request));
  return shown(request, entry.object);
}

/** Metadata alone, where that is what was asked for. */
export function shown({ accept }: Pick<ApiRequest, "accept">, object: Tree): Tree {
  if (!accept.includes("as=PartialObjectMetadata")) return object;
  const metadata = treeAt(object, "metadata");
  return { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata };
}

export function matcherOf({ query }: Pick<ApiRequest, "query">): (object: Tree) => boolean {
  const text = query.get("labelSelector") ?? "";
  const selects = text === "" ? () => true : parseLabelSelector(text);
  if (selects === undefined) throw badRequest("unable to parse the label selector");
  const isInPhase = phasesOf(query.get("fieldSelector") ?? "");
  return (object) => {
    const labels = treeAt(treeAt(object, "metadata"), "labels");
    return selects(labels as Readonly<Record<string, string>>) && isInPhase(object);
  };
}

/** Of Pods: `status.phase!=Succeeded,status.phase!=Failed`. Other fields than the phase are left to the caller. */
function phasesOf(fieldSelector: string): (object: Tree) => boolean {
  const excluded = [...fieldSelector.matchAll(/status[.]phase!=(\w+)/g)].map(([, phase]) => phase);
  return (object) => !excluded.includes(textAt(treeAt(object, "status"), "phase"));
}

interface Token {
  readonly revision: number;
  readonly after: number;
}

/** What a continued listing goes on with; the model keeps it, as etcd keeps old revisions. */
export class Listings {
  readonly #snapshots = new Map<number, readonly Entry[]>();

  list(storage: Storage, request: ApiRequest): Tree {
    const { query, kind, namespace } = request;
    const token = parseToken(query.get("continue"));
    checkVersion(storage, query);
    const revision = token?.revision ?? storage.revision;
    const matches = matcherOf(request);
    const all =
      token === undefined ? storage.list(kind, namespace) : this.#continued(storage, token);
    const from = token?.after ?? 0;
    const limit = Number(query.get("limit") ?? 0) || Number.POSITIVE_INFINITY;
    const found = all.flatMap((entry, index) =>
      index >= from && matches(entry.object) ? [{ entry, index }] : [],
    );
    const page = found.slice(0, limit);
    const rest = found.length - page.length;
    const after = (page.at(-1)?.index ?? 0) + 1;
    if (rest > 0) this.#snapshots.set(revision, all);
    return {
      kind: `${kind.type.kind}List`,
      apiVersion: apiVersionOf(kind.type),
      metadata: {
        resourceVersion: String(revision),
        ...(rest > 0 ? { continue: toToken({ revision, after }) } : {}),
        ...(rest > 0 && !query.has("labelSelector") ? { remainingItemCount: rest } : {}),
      },
      items: page.map(({ entry }) => shown(request, entry.object)),
    };
  }

  #continued(storage: Storage, token: Token): readonly Entry[] {
    const snapshot = this.#snapshots.get(token.revision);
    if (snapshot === undefined || token.revision <= storage.compacted) {
      throw expired("The provided continue parameter is too old");
    }
    return snapshot;
  }
}

function checkVersion(storage: Storage, query: URLSearchParams): void {
  const wanted = query.get("resourceVersion");
  if (wanted !== null && Number(wanted) > storage.revision) {
    throw versionTooLarge(wanted, String(storage.revision));
  }
}

function toToken(token: Token): string {
  return Buffer.from(JSON.stringify(token)).toString("base64url");
}

function parseToken(text: string | null): Token | undefined {
  if (text === null || text === "") return undefined;
  try {
    const token: unknown = JSON.parse(Buffer.from(text, "base64url").toString("utf8"));
    if (isTree(token) && typeof token.revision === "number" && typeof token.after === "number") {
      return { revision: token.revision, after: token.after };
    }
  } catch {
    // Said below.
  }
  throw badRequest("continue key is not valid");
}

export function versionOf(object: Tree): string {
  return textAt(treeAt(object, "metadata"), "resourceVersion") ?? "";
}
