/** Quotas (listResourceQuotas) and actions (searchActions): the only records that the spec shows in full. */
import * as z from "zod";
import type { IamAction, Json, Quota } from "../model.ts";
import { type Listing, readListing } from "./listing.ts";
import { ShapeError } from "./shape-error.ts";
import { LONGEST_TEXT } from "./texts.ts";

const text = z.string().max(LONGEST_TEXT);

const QuotaRecord = z.object({
  name: text,
  namespace: text,
  status: text.nullish().transform((status) => status ?? undefined),
  displayRequest: text,
  displayLimit: text,
  createdAt: text,
});

export interface QuotaPage extends Omit<Listing, "records"> {
  readonly records: readonly Quota[];
}

/** One page of listResourceQuotas. */
export function readQuotaPage(json: Json): QuotaPage {
  const { records, ...position } = readListing(json);
  return { ...position, records: records.map(readQuota) };
}

function readQuota(record: Json): Quota {
  const parsed = QuotaRecord.safeParse(record);
  if (!parsed.success) throw new ShapeError("a quota lacks required fields or has too long fields");
  const { status, ...rest } = parsed.data;
  return { ...rest, status };
}

const ActionRecord = z.object({
  actionId: text.min(1),
  actionClass: text.optional().catch(undefined),
});

/** One page of searchActions. */
export function readActions(json: Json): readonly IamAction[] {
  return readListing(json).records.map((record) => {
    const parsed = ActionRecord.safeParse(record);
    if (!parsed.success) throw new ShapeError("there is an action without actionId");
    return { actionId: parsed.data.actionId, actionClass: parsed.data.actionClass };
  });
}
