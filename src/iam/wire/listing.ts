/** Reads lists in each form that the console may use: in an envelope with pagination, or as a bare array. */
import * as z from "zod";
import { ownEntry } from "../../util/own-entry.ts";
import type { Json } from "../model.ts";
import { isJsonObject, type JsonObject } from "./json.ts";
import { ShapeError } from "./shape-error.ts";

export interface Listing {
  readonly records: readonly Json[];
  /** `undefined` if the answer does not contain it. */
  readonly page: number | undefined;
  readonly hasNext: boolean | undefined;
  readonly totalCount: number | undefined;
}

/** More records than any organization has. Bounds the memory for a listing. */
export const MAX_RECORDS = 10_000;

const count = z.int().min(0).optional().catch(undefined);

const Counts = z.object({
  page: count,
  totalCount: count,
  total: count,
  totalPages: count,
  dataCount: count,
  hasNext: z.boolean().optional().catch(undefined),
});
type Counts = z.infer<typeof Counts>;

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
  if (Array.isArray(payload)) return { records: bounded(payload), ...readPosition({}) };
  if (!isJsonObject(payload)) throw new ShapeError("the answer lacks a list");
  const counts = readCounts(payload);
  const records = bounded(recordsOf(payload, counts, ["data", "items", ...names]));
  if (counts.dataCount !== undefined && counts.dataCount !== records.length) {
    throw new ShapeError("dataCount is not the number of records");
  }
  return { records, ...readPosition(counts) };
}

function bounded(records: readonly Json[]): readonly Json[] {
  if (records.length <= MAX_RECORDS) return records;
  throw new ShapeError(`the list has more than ${MAX_RECORDS} records`);
}

/** The records of a complete list; throws ShapeError if the list is incomplete. */
export function readWholeListing(json: Json, names?: readonly string[]): readonly Json[] {
  const { records, hasNext, totalCount } = readListing(json, names);
  if (hasNext === true) throw new ShapeError("the list continues after this page");
  if (totalCount !== undefined && totalCount !== records.length) {
    throw new ShapeError("totalCount is not the number of records");
  }
  return records;
}

function readCounts(payload: JsonObject): Partial<Counts> {
  const { pagination } = payload;
  const own = Counts.parse(payload);
  return isJsonObject(pagination) ? merged(own, Counts.parse(pagination)) : own;
}

/** Counts in `pagination` take precedence over the counts next to it. */
function merged(own: Counts, pagination: Counts): Partial<Counts> {
  const said = Object.entries(pagination).filter(([, value]) => value !== undefined);
  return { ...own, ...Object.fromEntries(said) };
}

function readPosition({ page, hasNext, totalCount, total, totalPages }: Partial<Counts>) {
  const followed =
    page !== undefined && page > 0 && totalPages !== undefined ? page < totalPages : undefined;
  return { page, hasNext: hasNext ?? followed, totalCount: totalCount ?? total };
}

function recordsOf(payload: JsonObject, counts: Partial<Counts>, names: readonly string[]) {
  for (const name of names) {
    const found = ownEntry(payload, name);
    if (Array.isArray(found)) return found as readonly Json[];
  }
  // `data` is optional in a list result: if it is absent and the count is 0, the list is empty.
  if ((payload.data ?? null) === null && counts.dataCount === 0) return [];
  throw new ShapeError("the answer lacks a list");
}
