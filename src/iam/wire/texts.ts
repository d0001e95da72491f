/** Which texts of an answer are kept. All but secrets are bounded: whoever runs the console decides what they say. */
import { ownEntry } from "../../util/own-entry.ts";

/** A longer one could not be noted in any status. */
const LONGEST_ID = 256;
export const LONGEST_TEXT = 4_096;

const BREAK_OR_CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Whether the value can be used as an id of the console. */
export function isConsoleId(value: unknown): value is string {
  return isOneLine(value) && value.length <= LONGEST_ID;
}

/** Whether the value is a line that files, headers and paths can carry: a line break would begin another one. */
export function isOneLine(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value !== "" &&
    value.isWellFormed() &&
    !BREAK_OR_CONTROL.test(value)
  );
}

/** The first of these fields that holds a text, neither empty nor longer than is kept. */
export function firstText(
  record: Readonly<Record<string, unknown>>,
  names: readonly string[],
): string | undefined {
  for (const name of names) {
    const value = ownEntry(record, name);
    if (typeof value === "string" && value !== "" && value.length <= LONGEST_TEXT) return value;
  }
  return undefined;
}
