import type { Io } from "../cli/io.ts";
import { countUnread, type QuotaTexts } from "./quota-rows.ts";

/** Prints one line about quotas whose texts cannot be parsed; nothing if all texts can. */
export function noteUnread(io: Pick<Io, "note">, quotas: readonly QuotaTexts[]): void {
  const unread = countUnread(quotas);
  if (unread > 0)
    io.note(
      `Not shown: the texts of ${unread} quota${unread === 1 ? "" : "s"}, which hold no amounts.`,
    );
}
