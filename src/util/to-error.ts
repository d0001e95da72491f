/** What was thrown, as an Error. Anything else stays unshown: foreign code may throw a text that has a secret in it. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error("unknown");
}
