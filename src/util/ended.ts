/** The text with a period, unless it is empty or ends a sentence. */
export function ended(sentence: string): string {
  return /(^|[.!?])$/.test(sentence) ? sentence : `${sentence}.`;
}
