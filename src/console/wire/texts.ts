/** Selects the texts to keep from an answer. All except secrets are bounded, because the console controls them. */
import { ownEntry } from "../../util/own-entry.ts";

/** A longer ID does not fit into any status. */
const LONGEST_ID = 256;
export const LONGEST_TEXT = 4_096;

const BREAK_OR_CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether the value can be an ID of the console. */
export function isConsoleId(value: unknown): value is string {
  return isOneLine(value) && value.length <= LONGEST_ID;
}

/** Whether the value is a single line, so that it is safe in files, headers and paths. */
export function isOneLine(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.isWellFormed() &&
    !BREAK_OR_CONTROL.test(value)
  );
}

/** Whether the value is a text short enough to keep. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST_TEXT;
}

/** The first of these fields with a text that is neither empty nor longer than `LONGEST_TEXT`. */
export function firstText(
  record: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const value = ownEntry(record, name);
    if (isText(value) && value !== "") return value;
  }
  return undefined;
}
