import type { Log, LogFields } from "../../src/util/log.ts";

export interface LogLine {
  readonly level: "debug" | "info" | "warn" | "error";
  readonly message: string;
  readonly fields: LogFields;
}

/** Hands every line on; fields of children included. */
export function recordingLog(onLine: (line: LogLine) => void, base: LogFields = {}): Log {
  const at = (level: LogLine["level"]) => (fields: LogFields, message: string) =>
    onLine({ level, message, fields: { ...base, ...fields } });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => recordingLog(onLine, { ...base, ...fields }),
  };
}

/** The whole line as text, errors with their causes. */
export function toText({ level, message, fields }: LogLine): string {
  return `${level} ${message} ${JSON.stringify(fields, (_name, value: unknown) =>
    value instanceof Error
      ? { ...value, name: value.name, message: value.message, cause: value.cause }
      : value,
  )}`;
}
