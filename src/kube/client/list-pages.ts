/** Consistent listing in pages. */

import { HttpError } from "../../http/http.ts";
import { isKubeError, KubeError } from "../errors.ts";
import { asRead, type KubeObject, type ResourceType } from "../resource.ts";
import { type ApiCall, callApi, type KubeApi } from "./api-call.ts";
import { apiVersionOf, collectionPath } from "./api-path.ts";
import { isRecord } from "./status.ts";

/** The page size of Kubernetes' own tools; the server may return fewer objects. Large objects come in smaller pages. */
const PAGE_SIZE = 500;

const METADATA_ONLY_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export interface Selection {
  /** Absent: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Returns objects without spec, status and data. */
  readonly metadataOnly?: boolean | undefined;
}

interface ObjectListing<T> {
  readonly objects: readonly T[];
  /** The version of the listing; a watch from this version misses no event. */
  readonly version: string;
}

/**
 * Reads every page of a listing that is at least as new as the call. Never returns a partial list, because missing
 * objects would look deleted: if a token expires between pages, it rejects with Gone. `keep` is called page by page and
 * returns the part of each object to keep.
 */
export async function listPages<T extends KubeObject>(
  api: KubeApi,
  type: ResourceType<T>,
  selection: Selection,
  options: Pick<ApiCall, "timeoutMs" | "signal">,
  keep: (object: T) => T = (object) => object,
): Promise<ObjectListing<T>> {
  const objects: T[] = [];
  let first: string | undefined;
  for await (const { items, version } of pagesOf(api, type, selection, options)) {
    for (const item of items) objects.push(keep(complete(type, item)));
    first ??= version;
  }
  return { objects, version: first ?? "" };
}

/** Yields one page after the other. Requests the next page only when the consumer is done with the current page. */
export async function* pagesOf<T extends KubeObject>(
  api: KubeApi,
  type: ResourceType<T>,
  selection: Selection,
  options: Pick<ApiCall, "timeoutMs" | "signal">,
): AsyncGenerator<ListPage<T>> {
  let token: string | undefined;
  let limit = PAGE_SIZE;
  do {
    const page = await readWhatFits<T>(api, type, selection, { ...options, token, limit });
    yield page;
    // A server that returns the same token again would make this loop endless.
    if (page.token !== undefined && page.token === token) throw malformed(type, "repeats a page");
    ({ token, limit } = page);
  } while (token !== undefined);
}

type PageOptions = Pick<ApiCall, "timeoutMs" | "signal"> & {
  readonly token?: string | undefined;
  readonly limit: number;
};

/** Reads a page with fewer objects if they are too large for one answer; resolves to it with the limit that fits. */
async function readWhatFits<T extends KubeObject>(
  api: KubeApi,
  type: ResourceType<T>,
  selection: Selection,
  options: PageOptions,
): Promise<ListPage<T> & Pick<PageOptions, "limit">> {
  const { limit } = options;
  try {
    return { ...(await readPage(api, type, selection, options)), limit };
  } catch (error) {
    if (limit === 1 || !isTooLarge(error)) throw error;
    return readWhatFits(api, type, selection, { ...options, limit: Math.floor(limit / 2) });
  }
}

function isTooLarge(error: unknown): boolean {
  const cause = isKubeError(error) ? error.cause : undefined;
  return cause instanceof HttpError && cause.failure === "tooLarge";
}

/** The current version of a collection, read with a minimal request. */
export async function readVersion(
  api: KubeApi,
  type: ResourceType,
  selection: Selection,
  options: Pick<ApiCall, "timeoutMs" | "signal">,
): Promise<string> {
  return (await readPage(api, type, selection, { ...options, limit: 1 })).version;
}

interface ListPage<T> {
  readonly items: readonly T[];
  readonly version: string;
  readonly token: string | undefined;
}

async function readPage<T extends KubeObject>(
  api: KubeApi,
  type: ResourceType<T>,
  selection: Selection,
  options: PageOptions,
): Promise<ListPage<T>> {
  const { labelSelector, fieldSelector, namespace, metadataOnly } = selection;
  const { limit, token, ...call } = options;
  const answer = await callApi(api, {
    ...call,
    attempted: `list ${type.plural}`,
    method: "GET",
    path: collectionPath(type, namespace),
    // No resourceVersion: with "0", the server ignores the limit and may return outdated objects.
    query: { labelSelector, fieldSelector, limit, continue: token },
    ...(metadataOnly ? { accept: METADATA_ONLY_LIST } : {}),
  });
  return toPage(type, answer);
}

function toPage<T extends KubeObject>(
  type: ResourceType,
  answer: Readonly<Record<string, unknown>>,
): ListPage<T> {
  const { items = [], metadata } = answer;
  if (!isRecord(metadata) || typeof metadata.resourceVersion !== "string") {
    throw malformed(type, "lacks a version");
  }
  // Go writes an empty list as null.
  const objects = items === null ? [] : items;
  if (!Array.isArray(objects) || !objects.every(isNamed)) throw malformed(type, "lacks objects");
  const token = metadata.continue;
  return {
    items: objects as T[],
    version: metadata.resourceVersion,
    token: typeof token === "string" && token !== "" ? token : undefined,
  };
}

/** Adds the type: list items have no type or are PartialObjectMetadata. Objects of a watch have their type. */
export function complete<T extends KubeObject>(type: ResourceType<T>, object: T): T {
  return asRead(type, { ...object, apiVersion: apiVersionOf(type), kind: type.kind });
}

export function isNamed(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value.metadata) && typeof value.metadata.name === "string";
}

function malformed(type: ResourceType, what: string): KubeError {
  return new KubeError("MalformedResponse", `list ${type.plural}: the answer ${what}`);
}
