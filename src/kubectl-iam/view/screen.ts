/** How to write text: width and colors. */
import { styleText } from "node:util";
import type { Io } from "../cli/io.ts";

export type Style = "bad" | "good" | "warning" | "dim" | "bold";

const formats = {
  bad: "red",
  good: "green",
  warning: "yellow",
  dim: "dim",
  bold: "bold",
} as const satisfies Record<Style, Parameters<typeof styleText>[0]>;

export interface Screen {
  /** `undefined`: no text is cut or wrapped. */
  readonly width: number | undefined;
  paint(style: Style | undefined, text: string): string;
}

export function screenOf({ width, hasColor }: Pick<Io, "width" | "hasColor">): Screen {
  return {
    width,
    paint: (style, text) =>
      style === undefined || !hasColor || text === ""
        ? text
        : styleText(formats[style], text, { validateStream: false }),
  };
}

/** Texts of servers can contain anything; a terminal must not interpret parts of them as commands. */
export function clean(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]+/gu, " ");
}

/** The color codes of {@link screenOf}. */
const PAINT = new RegExp(`^${String.fromCharCode(0x1b)}\\[(?:1|2|22|31|32|33|39)m`);

/**
 * Replaces control and format characters by JSON escapes, except line breaks, tabs and our own colors, so that JSON
 * keeps its value. Applied to all output, so that no command has to do it.
 */
export function escapeControls(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character, at: number) => {
    const isOurs = character === "\n" || character === "\t" || PAINT.test(text.slice(at, at + 6));
    return isOurs ? character : character.split("").map(escaped).join("");
  });
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** At most `width` characters; the last is an ellipsis if the text was cut. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text);
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

/** Lines of at most `width` characters, broken between words; the whole text if there is no width. */
export function wrap(text: string, width: number | undefined): readonly string[] {
  if (width === undefined) return [text];
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

export function lengthOf(text: string): number {
  return Array.from(text).length;
}
