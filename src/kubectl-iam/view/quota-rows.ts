/** Quotas as rows of used against hard. Pure. */
import { parseQuotaText } from "../../api/quota-text.ts";
import { bar, percent } from "./bar.ts";
import type { Column } from "./table.ts";

/** A quota as the console's list and the status of an export have it. */
export interface QuotaTexts {
  readonly namespace: string;
  readonly name: string;
  readonly status?: string | undefined;
  readonly request: string;
  readonly limit: string;
}

export interface QuotaRow {
  readonly clusterId: number;
  readonly namespace: string;
  readonly quota: string;
  readonly resource: string;
  readonly of: "requests" | "limits";
  readonly used: string;
  readonly hard: string;
  /** Used by hard; `undefined` where the console's text holds no amounts. */
  readonly share: number | undefined;
  readonly status: string | undefined;
}

/** A row for each resource; one with the console's words for a text that holds no amounts. */
export function toQuotaRows(clusterId: number, quotas: readonly QuotaTexts[]): readonly QuotaRow[] {
  return quotas.flatMap(({ namespace, name, status, request, limit }) => {
    const common = { clusterId, namespace, quota: name, status };
    return [
      ...rowsOf(request).map((row) => ({ ...common, of: "requests" as const, ...row })),
      ...rowsOf(limit).map((row) => ({ ...common, of: "limits" as const, ...row })),
    ];
  });
}

function rowsOf(text: string) {
  const amounts = parseQuotaText(text);
  if (amounts === undefined) return [{ resource: text, used: "", hard: "", share: undefined }];
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
  return (b.share ?? -1) - (a.share ?? -1);
}

const FULL = 0.9;

/** The cluster is told where there are several, and with `-o wide`. */
export function quotaColumns(rows: readonly QuotaRow[]): readonly Column<QuotaRow>[] {
  const cluster = { title: "CLUSTER", cell: ({ clusterId }: QuotaRow) => String(clusterId) };
  const isOne = new Set(rows.map(({ clusterId }) => clusterId)).size <= 1;
  return [isOne ? { ...cluster, wide: true } : cluster, ...columns];
}

const columns: readonly Column<QuotaRow>[] = [
  { title: "NAMESPACE", cell: ({ namespace }) => namespace },
  { title: "QUOTA", cell: ({ quota }) => quota },
  { title: "RESOURCE", cell: ({ resource, of }) => `${resource} ${of}`, flexible: true },
  { title: "USED", cell: ({ used }) => used },
  { title: "HARD", cell: ({ hard }) => hard },
  {
    title: "FULL",
    cell: ({ share }) =>
      share === undefined
        ? ""
        : { text: `${bar(share)} ${percent(share)}`, style: share >= FULL ? "bad" : undefined },
  },
  { title: "STATUS", cell: ({ status }) => status ?? "", wide: true },
];
