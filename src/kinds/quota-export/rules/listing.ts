/** The status of one whole listing. Pure. */
import type { ResourceQuotaExportStatus } from "../../../api/resource-quota-export.ts";
import type { Quota } from "../../../console/model.ts";

type Entry = NonNullable<ResourceQuotaExportStatus["quotas"]>[number];

interface Summary {
  readonly total: number;
  readonly quotas: Entry[];
  readonly truncated: boolean;
}

const SHOWN = 100;
/** Well below the limits of the schema: a hundred records of maximum length still fit into one object. */
const MAX_NAME = 253;
const MAX_TEXT = 512;
const MAX_DATE = 64;
const MAX_STATUS = 256;

export function summarize(quotas: readonly Quota[]): Summary {
  return {
    total: quotas.length,
    quotas: quotas.toSorted(byName).slice(0, SHOWN).map(toEntry),
    truncated: quotas.length > SHOWN,
  };
}

/** The first `max` characters, without half a character at the end, which is not valid in JSON. */
export function cut(text: string, max: number): string {
  return text.slice(0, max).toWellFormed();
}

function toEntry(quota: Quota): Entry {
  return {
    name: cut(quota.name, MAX_NAME),
    namespace: cut(quota.namespace, MAX_NAME),
    ...(quota.status === undefined ? {} : { status: cut(quota.status, MAX_STATUS) }),
    request: cut(quota.displayRequest, MAX_TEXT),
    limit: cut(quota.displayLimit, MAX_TEXT),
    creationTime: cut(quota.createdAt, MAX_DATE),
  };
}

function byName(a: Quota, b: Quota): number {
  return compare(a.name, b.name) || compare(a.namespace, b.namespace);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
