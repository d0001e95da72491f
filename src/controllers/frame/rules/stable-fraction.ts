/**
 * A number in [0, 1) that is always the same for the same text: what spreads objects over time without moving them at a
 * restart. FNV-1a over UTF-16 units.
 */
export function stableFraction(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  return (value >>> 0) / 2 ** 32;
}
