import { IamError } from "../errors.ts";
import { MAX_LIST_BYTES, readAnswer } from "../exchange/exchange.ts";
import type { Quota, QuotaQuery } from "../model.ts";
import { type QuotaPage, readQuotaPage } from "../wire/catalogue.ts";
import { MAX_RECORDS } from "../wire/listing.ts";
import { ShapeError } from "../wire/shape-error.ts";
import type { ReadAnswer } from "./answers.ts";

/** More pages than any listing has. Stops a console that always reports a next page. */
const MAX_PAGES = 1_000;

/** All quotas, or MalformedResponse. */
export const listAllQuotas: ReadAnswer<QuotaQuery, readonly Quota[]> = async (send, query) => {
  let bytes = 0;
  try {
    return await readAllPages(async (page) => {
      const exchanged = await send(page);
      bytes += exchanged.response.body.length;
      if (bytes > MAX_LIST_BYTES) throw new ShapeError(`it has more than ${MAX_LIST_BYTES} bytes`);
      return readAnswer(exchanged, readQuotaPage);
    });
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const message = `the quotas of cluster ${query.clusterId} cannot be listed whole: ${error.message}`;
    throw new IamError("MalformedResponse", message, { operation: "listResourceQuotas" });
  }
};

/**
 * Reads every quota, from page 1 on. Throws ShapeError instead of a partial result if the listing changes while it is
 * read, repeats a record, or ends before its own total.
 */
export async function readAllPages(
  readPage: (page: number) => Promise<QuotaPage>,
): Promise<readonly Quota[]> {
  const quotas = new Map<string, Quota>();
  let total: number | undefined;
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const answer = await readPage(page);
    checkPosition(answer, page);
    total ??= answer.totalCount;
    if (answer.totalCount !== total) throw new ShapeError("totalCount changed between pages");
    addAll(quotas, answer.quotas);
    if (answer.hasNext !== true) return whole(quotas, total);
    if (answer.quotas.length === 0) throw new ShapeError("an empty page has a next page");
  }
  throw new ShapeError("the list does not end");
}

function checkPosition({ page, hasNext, totalCount }: QuotaPage, wanted: number): void {
  if (hasNext === undefined || totalCount === undefined) {
    throw new ShapeError("the answer lacks pagination");
  }
  if (page !== undefined && page !== wanted) throw new ShapeError("this is another page");
}

function addAll(found: Map<string, Quota>, quotas: readonly Quota[]): void {
  for (const quota of quotas) {
    const key = JSON.stringify([quota.namespace, quota.name]);
    if (found.has(key)) throw new ShapeError("a quota is listed twice");
    found.set(key, quota);
  }
  if (found.size > MAX_RECORDS) throw new ShapeError(`there are more than ${MAX_RECORDS} quotas`);
}

function whole(found: ReadonlyMap<string, Quota>, total: number | undefined): readonly Quota[] {
  if (found.size !== total) throw new ShapeError("totalCount is not the number of records");
  return [...found.values()];
}
