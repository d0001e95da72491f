import type { PlainError } from "./log-fields.ts";

interface Line {
  readonly time: string;
  readonly level: string;
  readonly msg: string;
  readonly err?: unknown;
}

const COLUMN = 5;

/** Formats pino's JSON line for people: `12:00:00.000 INFO  issued key  name=ci keyId=k1`. */
export function prettyLine(json: string): string {
  const { time, level, msg, err, ...fields } = JSON.parse(json) as Line;
  const values = Object.entries(fields).map(([name, value]) => ` ${name}=${prettyValue(value)}`);
  const head = `${time.slice(11, 23)} ${level.toUpperCase().padEnd(COLUMN)} ${msg}`;
  return `${head}${values.length === 0 ? "" : ` ${values.join("")}`}${prettyError(err)}\n`;
}

function prettyValue(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}

function prettyError(error: unknown): string {
  if (typeof error !== "object" || error === null) return "";
  const { type, message, stack, cause, ...rest } = error as PlainError;
  const values = Object.entries(rest).map(([name, value]) => ` ${name}=${prettyValue(value)}`);
  const frames = (stack ?? "")
    .split("\n")
    .filter((frame) => frame !== "")
    .map((frame) => `\n    ${frame}`);
  return `\n  ${type}: ${message ?? ""}${values.join("")}${frames.join("")}${prettyError(cause)}`;
}
