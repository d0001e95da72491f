import type { Invocation } from "../cli/command.ts";
import { printTable } from "./output.ts";
import {
  byShare,
  countUnread,
  type QuotaRow,
  type QuotaTexts,
  quotaColumns,
} from "./quota-rows.ts";

interface Quotas {
  readonly rows: readonly QuotaRow[];
  /** The texts from which the rows were read. */
  readonly texts: readonly QuotaTexts[];
  readonly empty: string;
}

/** Prints the quotas, or the fullest ones with `--top`, and the number of quotas whose texts cannot be parsed. */
export async function printQuotas(
  invocation: Invocation,
  { rows, texts, empty }: Quotas,
): Promise<void> {
  const { io, options } = invocation;
  const { top } = options;
  await printTable(invocation, {
    rows: top === undefined ? rows : rows.toSorted(byShare).slice(0, top),
    columns: quotaColumns(rows),
    empty,
  });
  const unread = countUnread(texts);
  if (unread > 0)
    io.note(
      `Not shown: the texts of ${unread} quota${unread === 1 ? "" : "s"}, which hold no amounts.`,
    );
}
