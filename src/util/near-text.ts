/** Finds the text that a mistyped text stands for. Pure. */
import { isSpelledLike } from "./spelling.ts";

/**
 * The only candidate that differs from the text by one character (inserted, left out, replaced, or exchanged with its
 * neighbor; no digit), or by case; `undefined` if several or none do.
 */
export function nearText(text: string, candidates: readonly string[]): string | undefined {
  const near = new Set(candidates.filter((each) => isNear(text, each)));
  const [only] = near;
  return near.size === 1 ? only : undefined;
}

function isNear(text: string, other: string): boolean {
  if (Math.abs(text.length - other.length) > 1) return false;
  return isSpelledLike(text, other) || isOneEdit(text, other);
}

function isOneEdit(text: string, other: string): boolean {
  const least = Math.min(text.length, other.length);
  let start = 0;
  while (start < least && text[start] === other[start]) start += 1;
  let end = 0;
  while (end < least - start && text.at(-1 - end) === other.at(-1 - end)) end += 1;
  const [left, right] = [text, other].map((each) => each.slice(start, each.length - end));
  // Texts with different numbers are different texts.
  if (left === undefined || right === undefined || /[0-9]/.test(left + right)) return false;
  const isExchanged = left.length === 2 && right === `${left[1]}${left[0]}`;
  return isExchanged || (left.length <= 1 && right.length <= 1);
}
