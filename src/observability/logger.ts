/** pino as an implementation of the program's `Log`. */
import { type DestinationStream, type Logger, pino } from "pino";
import type { Log, LogFields } from "../util/log.ts";
import type { Clock } from "../util/time.ts";
import { plainFields } from "./log-fields.ts";
import { prettyLine } from "./pretty-line.ts";
import { StandardOutput } from "./standard-output.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "json" | "pretty";

/** The destination of lines. */
interface LogSink {
  write(line: string): void;
  /** Writes buffered lines and blocks meanwhile; for fatal handlers. */
  flushSync(): void;
}

interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock: Clock;
  /** Standard output by default. */
  readonly sink?: LogSink;
}

/** No field has these names. If a field with such a name is logged by mistake, its value is not printed. */
const forbidden: readonly string[] = [
  "secret",
  "password",
  "token",
  "authorization",
  "cookie",
  "accessToken",
];

export function createLogger({
  level,
  format,
  clock,
  sink = new StandardOutput(clock),
}: LoggerOptions): {
  readonly log: Log;
  /** Writes buffered lines and blocks meanwhile: before the process exits, even after a fatal error. */
  readonly flush: () => void;
} {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Errors arrive as plain values; pino's own serializer would print every property.
      serializers: { err: (err: unknown) => err },
      redact: { paths: [...forbidden], censor: "<redacted>" },
    },
    format === "json" ? sink : pretty(sink),
  );
  return { log: toLog(() => logger, level === "debug"), flush: () => sink.flushSync() };
}

/** Most runs log nothing, so a child logger is created with its first line. */
function toLog(open: () => Logger, isDebugging: boolean): Log {
  let opened: Logger | undefined;
  const logger = () => {
    opened ??= open();
    return opened;
  };
  return {
    debug: (fields, message) => {
      if (isDebugging) logger().debug(plainFields(fields), message);
    },
    info: (fields, message) => logger().info(plainFields(fields), message),
    warn: (fields, message) => logger().warn(plainFields(fields), message),
    error: (fields, message) => logger().error(plainFields(fields), message),
    child: (fields: LogFields) => toLog(() => logger().child(plainFields(fields)), isDebugging),
  };
}

function pretty(sink: LogSink): DestinationStream {
  return { write: (line) => sink.write(prettyLine(line)) };
}
