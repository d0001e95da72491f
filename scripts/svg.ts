/** What the pictures of the documentation are drawn with. */

export const COLORS = ["#3274d9", "#e0752d", "#37872d", "#8f3bb8", "#c4162a", "#b38600"];

/** `more` are further attributes, as they are written. */
export function text(x: number, y: number, words: string, more = ""): string {
  return `<text x="${x.toFixed(0)}" y="${y.toFixed(0)}" ${more}>${escaped(words)}</text>`;
}

export function escaped(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
