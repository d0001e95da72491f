/** Secrets that a user provides: never on the command line, which other users and the shell history can read. */
import { readFile } from "node:fs/promises";
import { ownEntry } from "../../util/own-entry.ts";
import { Redacted } from "../../util/redacted.ts";
import { decodeUtf8 } from "../../util/utf8.ts";
import { UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { nameOf, type OptionName, options } from "../cli/options.ts";

interface Source {
  readonly option: OptionName;
  readonly file: string | undefined;
  readonly variable: string;
  readonly question: string;
}

/** Reads the file, the variable or the terminal, in this order. Throws UsageError if none of them has a secret. */
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

/** Reads a file; `-` is standard input. Throws UsageError if it cannot be read or is not UTF-8 text. */
export async function readText(io: Io, file: string): Promise<string> {
  if (file === "-") return io.readInput();
  const decoded = decodeUtf8(await readBytes(file));
  if (decoded.ok) return decoded.text;
  throw new UsageError(`${file} must be UTF-8 text, not ${decoded.found}`);
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
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
