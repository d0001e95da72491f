/**
 * Converts a thrown value to an Error. The text of any other value is dropped, because foreign code may throw a text
 * with a secret.
 */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("unknown");
}
