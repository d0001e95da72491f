import type { ListedKeyState } from "../model.ts";

const ACTIVE: ReadonlySet<string> = new Set(["active", "enabled"]);
/** The documentation names `inactive` and `expired`, in words only. */
const INACTIVE: ReadonlySet<string> = new Set([
  "inactive",
  "expired",
  "disabled",
  "revoked",
  "deleted",
]);

/** What the `status` of a key in a list shows; `undefined` if it is a word that proves nothing. */
export function readKeyState(status: string): ListedKeyState | undefined {
  const word = status.trim().toLowerCase();
  if (ACTIVE.has(word)) return "Active";
  return INACTIVE.has(word) ? "Inactive" : undefined;
}
