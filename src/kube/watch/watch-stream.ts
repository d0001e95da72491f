/** Opens one watch request and parses its lines. */
import { HttpError, type OpenStream } from "../../http/http.ts";
import { type KubeApi, MAX_BYTES } from "../client/api-call.ts";
import { collectionPath, type Query, queryText } from "../client/api-path.ts";
import { complete, isNamed, type Selection } from "../client/list-pages.ts";
import { fromHttpError, isRecord, parseStatus, toKubeError } from "../client/status.ts";
import { KubeError } from "../errors.ts";
import type { KubeObject, ResourceType } from "../resource.ts";
import { trim } from "./trim.ts";
import type { WatchInput } from "./watch-state.ts";

export interface WatchApi extends KubeApi {
  readonly openStream: OpenStream;
}

interface WatchRequest {
  readonly selection: Selection;
  /** Absent: the stream starts with every existing object, followed by the changes. */
  readonly version: string | undefined;
  readonly timeoutSeconds: number;
  readonly headTimeoutMs: number;
  readonly signal: AbortSignal;
}

const METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

/** Opens a watch. Rejects with KubeError only, even if the server refuses the watch. */
export async function openWatch(
  api: WatchApi,
  type: ResourceType,
  request: WatchRequest,
): Promise<AsyncIterable<Uint8Array>> {
  const { selection, headTimeoutMs, signal } = request;
  const attempted = `watch ${type.plural}`;
  try {
    const response = await api.openStream({
      url: `${api.baseURL}${collectionPath(type, selection.namespace)}${queryText(queryOf(request))}`,
      headers: {
        accept: selection.metadataOnly ? METADATA_ONLY : "application/json",
        "user-agent": api.userAgent,
      },
      headTimeoutMs,
      signal,
    });
    if (response.status === 200) return response.body;
    const serverStatus = parseStatus(await readJson(response.body));
    throw toKubeError({ ...response, attempted, serverStatus, now: api.clock.now() });
  } catch (error) {
    throw error instanceof HttpError ? fromHttpError(attempted, error) : error;
  }
}

function queryOf({ selection, version, timeoutSeconds }: WatchRequest): Query {
  const { labelSelector, fieldSelector } = selection;
  const common = {
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds,
    labelSelector,
    fieldSelector,
  };
  // Without a resourceVersion, the initial objects are a consistent read.
  return version === undefined
    ? { ...common, sendInitialEvents: true, resourceVersionMatch: "NotOlderThan" }
    : { ...common, resourceVersion: version };
}

/** Reads a refusal to its end or to the size limit, so that the connection is released. */
async function readJson(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    return undefined;
  }
}

/** An error that the server reports within a stream. */
export class StreamError extends Error {
  override readonly name = "StreamError";
}

/**
 * Parses a line of a watch. Throws KubeError or StreamError for an error that the server reports in it, and KubeError
 * MalformedResponse for an unreadable line: skipping the line would lose an event.
 */
export function parseWatchLine<T extends KubeObject>(
  api: KubeApi,
  type: ResourceType<T>,
  line: string,
): WatchInput<T> {
  const event = parse(type, line);
  const { object } = event;
  if (event.type === "ERROR") throw inBandError(api, type, object);
  if (event.type === "BOOKMARK") return bookmark(type, object);
  if (!isNamed(object)) throw malformed(type, "an event lacks an object");
  const version = object.metadata.resourceVersion;
  if (typeof version !== "string") throw malformed(type, "an object lacks a version");
  const deleted = event.type === "DELETED";
  if (!deleted && event.type !== "ADDED" && event.type !== "MODIFIED") {
    throw malformed(type, "an event has an unknown type");
  }
  return {
    kind: "Changed",
    deleted,
    object: trim(complete(type, object as T)),
    version,
    size: line.length,
  };
}

function parse(type: ResourceType, line: string): Readonly<Record<string, unknown>> {
  try {
    const event: unknown = JSON.parse(line);
    if (isRecord(event)) return event;
  } catch {
    // The parser's message quotes the line, which may contain anything.
  }
  throw malformed(type, "an event is not JSON");
}

/** A bookmark's object has no name, only its version. */
function bookmark<T>(type: ResourceType, object: unknown): WatchInput<T> {
  const metadata = isRecord(object) && isRecord(object.metadata) ? object.metadata : {};
  const { resourceVersion, annotations } = metadata;
  if (typeof resourceVersion !== "string") throw malformed(type, "a bookmark lacks a version");
  const endsInitial = isRecord(annotations) && annotations[INITIAL_EVENTS_END] === "true";
  return { kind: "Bookmark", version: resourceVersion, endsInitial };
}

function inBandError(api: KubeApi, type: ResourceType, object: unknown): Error {
  const serverStatus = parseStatus(object);
  const status = serverStatus?.code;
  const attempted = `watch ${type.plural}`;
  if (status === undefined) return new StreamError(`${attempted}: an error without a status`);
  const error = toKubeError({ attempted, status, headers: {}, serverStatus, now: api.clock.now() });
  return isKnown(error) ? error : new StreamError(error.message);
}

function isKnown({ code }: KubeError): boolean {
  return code !== "BadRequest" && code !== "Invalid" && code !== "MalformedResponse";
}

function malformed(type: ResourceType, what: string): KubeError {
  return new KubeError("MalformedResponse", `watch ${type.plural}: ${what}`);
}
