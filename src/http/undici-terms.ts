/** Converts undici's answers and errors to our types. */
import { HttpError } from "./http.ts";

/** Lower-case names; repeated headers are joined by ", ". */
export function joinHeaders(
  headers: NodeJS.Dict<string | readonly string[]>,
): Record<string, string> {
  const joined = Object.entries(headers).map(([name, value]) => [
    name.toLowerCase(),
    typeof value === "object" ? value.join(", ") : (value ?? ""),
  ]);
  return Object.fromEntries(joined);
}

/** The error for a failed connection. */
export function connectionFailure(error: unknown): HttpError {
  return error instanceof HttpError
    ? error
    : new HttpError("network", `the connection failed (${codeOf(error)})`);
}

/** Only the code, or the name: messages and properties of these errors may contain bytes of the answer. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  const code: unknown = "code" in error ? error.code : undefined;
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]{0,63}$/.test(code)) return code;
  return /^[A-Za-z]{1,63}$/.test(error.name) ? error.name : "unknown";
}
