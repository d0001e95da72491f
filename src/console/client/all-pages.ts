import { IamError } from "../errors.ts";
import { MAX_LIST_BYTES, readAnswer } from "../exchange/exchange.ts";
import type { IamServiceAccount, Json, Quota, QuotaQuery } from "../model.ts";
import { readQuotaPage } from "../wire/catalogue.ts";
import { type Listing, MAX_RECORDS } from "../wire/listing.ts";
import { readServiceAccountPage } from "../wire/service-account.ts";
import { ShapeError } from "../wire/shape-error.ts";
import type { ReadAnswer } from "./answers.ts";

/** More pages than any listing has. Stops a console that always reports a next page. */
const MAX_PAGES = 1_000;
/** How often a list is read that changes meanwhile. */
const MAX_READS = 3;

export interface Page<T> extends Omit<Listing, "records"> {
  readonly records: readonly T[];
}

/** A list that has changed between two of its pages. */
class ListChanged extends ShapeError {}

interface ListOf<T> {
  /** Identifies a record in the list. */
  readonly keyOf: (record: T) => string;
  /** Whether each page must tell its position, as documented. */
  readonly isDocumented: boolean;
}

export const quotas: ListOf<Quota> = {
  keyOf: ({ namespace, name }) => JSON.stringify([namespace, name]),
  isDocumented: true,
};
export const accounts: ListOf<IamServiceAccount> = {
  keyOf: ({ saId }) => saId,
  isDocumented: false,
};

/** All quotas, or MalformedResponse. */
export const listAllQuotas: ReadAnswer<QuotaQuery, readonly Quota[]> = (send, { clusterId }) =>
  readList(
    { operation: "listResourceQuotas", what: `the quotas of cluster ${clusterId}` },
    send,
    (readJson) => readAllPages((page) => readJson(page, readQuotaPage), quotas),
  );

/** All accounts of a console that lists them in pages, or MalformedResponse. */
export const listAllAccounts: ReadAnswer<void, readonly IamServiceAccount[]> = (send) =>
  readList({ operation: "listServiceAccounts", what: "the service accounts" }, send, (readJson) =>
    readSettled(() => readAllPages((page) => readJson(page, readServiceAccountPage), accounts)),
  );

type ReadPage = <T>(page: number, read: (json: Json) => Page<T>) => Promise<Page<T>>;

async function readList<T>(
  { operation, what }: { readonly operation: string; readonly what: string },
  send: Parameters<ReadAnswer<unknown, unknown>>[0],
  readAll: (readPage: ReadPage) => Promise<readonly T[]>,
): Promise<readonly T[]> {
  let bytes = 0;
  try {
    return await readAll(async (page, read) => {
      const exchanged = await send(page);
      bytes += exchanged.response.body.length;
      if (bytes > MAX_LIST_BYTES) throw new ShapeError(`it has more than ${MAX_LIST_BYTES} bytes`);
      return readAnswer(exchanged, read);
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const message = `${what} cannot be listed whole: ${error.message}`;
    throw new IamError("MalformedResponse", message, { operation });
  }
}

/** Accounts are created while they are listed. */
async function readSettled<T>(read: () => Promise<T>): Promise<T> {
  for (let reads = 1; ; reads += 1) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ListChanged) || reads === MAX_READS) throw error;
    }
  }
}

/**
 * Reads every record, from page 1 on. Throws ShapeError instead of a partial result if the listing changes while it is
 * read, repeats a record, or ends before its own total. If the form of the list is not documented, an empty page ends it.
 */
export async function readAllPages<T>(
  readPage: (page: number) => Promise<Page<T>>,
  list: ListOf<T>,
): Promise<readonly T[]> {
  const found = new Map<string, T>();
  let total: number | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await readPage(page);
    if (list.isDocumented) checkPosition(answer, page);
    total ??= answer.totalCount;
    if (answer.totalCount !== total) throw new ListChanged("totalCount changed between pages");
    addAll(found, answer.records, list);
    const isEmpty = answer.records.length === 0;
    if (!hasNext(answer, found.size) || (isEmpty && !list.isDocumented)) return whole(found, total);
    if (isEmpty) throw new ShapeError("an empty page has a next page");
  }
  throw new ShapeError("the list does not end");
}

function hasNext({ hasNext, totalCount, records }: Page<unknown>, found: number): boolean {
  if (hasNext !== undefined) return hasNext;
  return totalCount === undefined ? records.length > 0 : found < totalCount;
}

function checkPosition({ page, hasNext, totalCount }: Page<unknown>, wanted: number): void {
  if (hasNext === undefined || totalCount === undefined) {
    throw new ShapeError("the answer lacks pagination");
  }
  if (page !== undefined && page !== wanted) throw new ShapeError("this is another page");
}

function addAll<T>(found: Map<string, T>, records: readonly T[], { keyOf }: ListOf<T>): void {
  for (const record of records) {
    const key = keyOf(record);
    if (found.has(key)) throw new ShapeError("a record is listed on two pages");
    found.set(key, record);
  }
  if (found.size > MAX_RECORDS) throw new ShapeError(`there are more than ${MAX_RECORDS} records`);
}

function whole<T>(found: ReadonlyMap<string, T>, total: number | undefined): readonly T[] {
  if (total !== undefined && found.size !== total)
    throw new ShapeError("totalCount is not the number of records");
  return [...found.values()];
}
