/** Quotas as rows of used against hard. Pure. */
import { parseQuotaText } from "../../api/quota-text.ts";
import { bar, percent } from "./bar.ts";
import type { Column } from "./table.ts";

/** A quota in the form of the console's list and of an export's status. */
export interface QuotaTexts {
  readonly namespace: string;
  readonly name: string;
  readonly status?: string | undefined;
  readonly request: string;
  readonly limit: string;
}

export interface QuotaRow {
  readonly clusterId: number;
  /** The ResourceQuotaExport; absent if the quota comes directly from the console. */
  readonly export: string | undefined;
  readonly namespace: string;
  readonly quota: string;
  readonly resource: string;
  readonly of: "requests" | "limits";
  readonly used: string;
  readonly hard: string;
  /** `used` divided by `hard`. */
  readonly share: number;
  readonly status: string | undefined;
}

/** A row for each resource and kind of amount; no rows for a text that cannot be parsed. */
export function toQuotaRows(
  clusterId: number,
  quotas: readonly QuotaTexts[],
  exportName?: string,
): readonly QuotaRow[] {
  return quotas.flatMap(({ namespace, name, status, request, limit }) => {
    const common = { clusterId, export: exportName, namespace, quota: name, status };
    return [
      ...rowsOf(request).map((row) => ({ ...common, of: "requests" as const, ...row })),
      ...rowsOf(limit).map((row) => ({ ...common, of: "limits" as const, ...row })),
    ];
  });
}

function rowsOf(text: string) {
  const amounts = parseQuotaText(text);
  if (amounts === undefined) return [];
  const texts = text.split(",").map((part) => part.slice(part.indexOf(":") + 1).split("/"));
  return amounts.map(({ resource, used, hard }, index) => ({
    resource,
    used: texts[index]?.[0]?.trim() ?? "",
    hard: texts[index]?.[1]?.trim() ?? "",
    share: hard === 0 ? (used === 0 ? 0 : 1) : used / hard,
  }));
}

/** The fullest first. */
export function byShare(a: QuotaRow, b: QuotaRow): number {
  return b.share - a.share;
}

const FULL = 0.9;

/** Names the exports if there are several, and with `-o wide`. */
export function quotaColumns(rows: readonly QuotaRow[]): readonly Column<QuotaRow>[] {
  const exports = { title: "EXPORT", cell: (row: QuotaRow) => row.export ?? "" };
  const isOne = new Set(rows.map((row) => row.export)).size <= 1;
  return [
    isOne ? { ...exports, wide: true } : exports,
    { title: "CLUSTER", cell: ({ clusterId }) => String(clusterId), wide: true },
    ...columns,
  ];
}

/** Counts the quotas whose texts cannot be parsed. */
export function countUnread(quotas: readonly QuotaTexts[]): number {
  return quotas.filter(
    ({ request, limit }) =>
      parseQuotaText(request) === undefined || parseQuotaText(limit) === undefined,
  ).length;
}

const columns: readonly Column<QuotaRow>[] = [
  { title: "NAMESPACE", cell: ({ namespace }) => namespace, flexible: 8 },
  { title: "QUOTA", cell: ({ quota }) => quota, flexible: 8 },
  { title: "RESOURCE", cell: ({ resource }) => resource, flexible: 8 },
  { title: "AMOUNT", cell: ({ of }) => of },
  { title: "USED", cell: ({ used }) => used },
  { title: "HARD", cell: ({ hard }) => hard },
  {
    title: "FULL",
    cell: ({ share }) => ({
      text: `${bar(share)} ${percent(share)}`,
      style: share >= FULL ? "bad" : undefined,
    }),
  },
  { title: "STATUS", cell: ({ status }) => status ?? "", wide: true },
];
