/** Secrets that a person hands over: never on the command line, where others and the history see them. */
import { readFile } from "node:fs/promises";
import { ownEntry } from "../../util/own-entry.ts";
import { Redacted } from "../../util/redacted.ts";
import { UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { nameOf, type OptionName, options } from "../cli/options.ts";

interface Source {
  readonly option: OptionName;
  readonly file: string | undefined;
  readonly variable: string;
  readonly question: string;
}

/** From the file, the variable or the terminal, in this order. Throws UsageError where there is none. */
export async function readSecret(
  io: Io,
  { option, file, variable, question }: Source,
): Promise<Redacted> {
  if (file !== undefined) return checked(await readText(io, file), option);
  const given = ownEntry(io.environment, variable);
  if (given !== undefined && given !== "") return new Redacted(given);
  if (io.isInteractive) return checked(await io.ask(question, { hidden: true }), option);
  throw new UsageError(
    `give ${nameOf(options[option].flags)} with a file, or - for standard input`,
  );
}

/** What a file holds; `-` is standard input. Throws UsageError where it cannot be read. */
export async function readText(io: Io, file: string): Promise<string> {
  if (file === "-") return io.readInput();
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new UsageError(`${file} cannot be read (${code})`);
  }
}

function checked(text: string, option: OptionName): Redacted {
  const value = text.replace(/[\r\n]+$/, "");
  if (value !== "") return new Redacted(value);
  throw new UsageError(`what ${nameOf(options[option].flags)} gives is empty`);
}
