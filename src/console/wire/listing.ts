/** Reads lists in each form that the console may use: in an envelope with pagination, or as a bare array. */
import { ownEntry } from "../../util/own-entry.ts";
import type { Json } from "../model.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { ShapeError } from "./shape-error.ts";

export interface Listing {
  readonly records: readonly Json[];
  /** `undefined` if the answer does not contain it. */
  readonly page: number | undefined;
  /** Whether records follow; `undefined` if the answer does not tell. */
  readonly hasNext: boolean | undefined;
  readonly totalCount: number | undefined;
}

/** More records than any organization has. Bounds the memory for a listing. */
export const MAX_RECORDS = 10_000;

const COUNTS = ["page", "totalCount", "total", "totalElements", "totalPages", "dataCount"] as const;
type Counts = { readonly [N in (typeof COUNTS)[number]]?: number };

/** Names under which consoles tell whether records follow, in addition to the documented `hasNext`. */
const FLAGS = ["hasNext", "hasMore", "hasNextPage"];
/** Names under which consoles give the next page, or what to ask for it with. */
const NEXT = ["next", "nextPage", "nextPageToken", "nextToken", "nextCursor", "cursor", "nextLink"];
/** Members that can hold the position of an answer in its list, next to the records. */
const NESTED = ["links", "_links", "page", "meta", "pagination"];

/** The payload of an answer: `result` of its envelope, or the answer itself without an envelope. */
export function payloadOf(json: Json): Json {
  if (!isJsonObject(json)) return json;
  const { result } = json;
  return isJsonObject(result) || Array.isArray(result) ? result : json;
}

/**
 * The records of a list. `names` are possible properties for the list, in addition to the documented `data`. Throws
 * ShapeError if there is no list, if the number of records differs from `dataCount`, or if it exceeds 10,000.
 */
export function readListing(json: Json, names: readonly string[] = []): Listing {
  const payload = payloadOf(json);
  const places = placesOf(json, payload);
  const counts: Counts = Object.assign({}, ...places.map(readCounts));
  const records = bounded(
    Array.isArray(payload)
      ? payload
      : recordsOf(payload, counts.dataCount, ["data", "items", ...names]),
  );
  if (counts.dataCount !== undefined && counts.dataCount !== records.length) {
    throw new ShapeError("dataCount is not the number of records");
  }
  const { page, totalCount = counts.total ?? counts.totalElements } = counts;
  const isAll = totalCount === records.length;
  return { records, page, totalCount, hasNext: readHasNext(places, counts, isAll) };
}

function bounded(records: readonly Json[]): readonly Json[] {
  if (records.length <= MAX_RECORDS) return records;
  throw new ShapeError(`the list has more than ${MAX_RECORDS} records`);
}

/** The records of a complete list. Throws ShapeError if the list is incomplete, with the advice about pages. */
export function readWholeListing(
  json: Json,
  names?: readonly string[],
  advice = "",
): readonly Json[] {
  const { records, hasNext, totalCount } = readListing(json, names);
  const excess = (totalCount ?? records.length) - records.length;
  if (hasNext === true || excess > 0)
    throw new ShapeError(`the list continues after this page${advice}`);
  if (excess < 0) throw new ShapeError("totalCount is not the number of records");
  return records;
}

/** Objects that can tell the position of the answer in its list; what a later one says takes precedence. */
function placesOf(json: Json, payload: Json): readonly JsonObject[] {
  const objects = [...new Set([json, payload])].filter(isJsonObject);
  const nested = objects.flatMap((each) => NESTED.map((name) => ownEntry(each, name) ?? null));
  return [...objects, ...nested.filter(isJsonObject)];
}

function readCounts(place: JsonObject): Counts {
  const counts = COUNTS.map((name) => [name, readCount(ownEntry(place, name))] as const);
  return Object.fromEntries(counts.filter(([, value]) => value !== undefined));
}

/** A count can be a text. */
function readCount(value: Json | undefined): number | undefined {
  const count = typeof value === "string" && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(count) && Number(count) >= 0 ? Number(count) : undefined;
}

/** A flag decides; without one, the number of pages, whether these are all records, or a further page that is named. */
function readHasNext(
  places: readonly JsonObject[],
  { page, totalPages }: Counts,
  isAll: boolean,
): boolean | undefined {
  const flags = places.flatMap((place) => FLAGS.map((name) => readFlag(ownEntry(place, name))));
  const flag = flags.findLast((value) => value !== undefined);
  if (flag !== undefined) return flag;
  const isCounted = totalPages !== undefined && page !== 0;
  if (isCounted && totalPages > (page ?? 1)) return true;
  if (isAll || isCounted) return false;
  const isNamed = places.some((place) => NEXT.some((name) => isFurther(ownEntry(place, name))));
  return isNamed ? true : undefined;
}

function readFlag(value: Json | undefined): boolean | undefined {
  const word = typeof value === "object" ? "" : String(value).toLowerCase();
  if (["true", "1", "yes"].includes(word)) return true;
  return ["false", "0", "no"].includes(word) ? false : undefined;
}

/** A link, a token or the number of a page. */
function isFurther(value: Json | undefined): boolean {
  if (typeof value === "string") return value.trim() !== "";
  return typeof value === "number" ? value > 0 : isJsonObject(value ?? null);
}

function recordsOf(payload: Json, dataCount: number | undefined, names: readonly string[]) {
  if (!isJsonObject(payload)) throw new ShapeError("the answer lacks a list");
  for (const name of names) {
    const found = ownEntry(payload, name);
    if (Array.isArray(found)) return found as readonly Json[];
  }
  // `data` is optional in a list result: if it is absent and the count is 0, the list is empty.
  if ((payload.data ?? null) === null && dataCount === 0) return [];
  throw new ShapeError("the answer lacks a list");
}
