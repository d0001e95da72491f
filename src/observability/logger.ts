/** pino behind the program's own `Log`. */
import { type DestinationStream, type Logger, pino } from "pino";
import type { Log, LogFields } from "../util/log.ts";
import type { Clock } from "../util/time.ts";
import { plainFields } from "./log-fields.ts";
import { prettyLine } from "./pretty-line.ts";
import { StandardOutput } from "./standard-output.ts";

export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFormat = "json" | "pretty";

/** Where lines go. */
export interface LogSink {
  write(line: string): void;
  /** Writes what is still held back, blocking; for fatal handlers. */
  flushSync(): void;
}

export interface LoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly clock: Clock;
  /** Standard output by default. */
  readonly sink?: LogSink;
}

/** Names no field has; one that comes in by mistake is not printed. */
const forbidden = ["secret", "password", "token", "authorization", "cookie", "accessToken"];

export function createLogger({
  level,
  format,
  clock,
  sink = new StandardOutput(clock),
}: LoggerOptions): {
  readonly log: Log;
  /** Writes what is held back, blocking: before the process exits, also after a fatal error. */
  readonly flush: () => void;
} {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date(clock.now()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Errors arrive as plain values; pino's own serializer prints every property.
      serializers: { err: (err: unknown) => err },
      redact: { paths: forbidden, censor: "<redacted>" },
    },
    format === "json" ? sink : pretty(sink),
  );
  return { log: toLog(() => logger, level === "debug"), flush: () => sink.flushSync() };
}

/** Most runs say nothing: a logger of their own is made for the first line. */
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
