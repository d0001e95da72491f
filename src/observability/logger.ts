/** pino behind the program's own `Log`. */
import { type DestinationStream, destination, type Logger, pino } from "pino";
import type { Log, LogFields } from "../util/log.ts";
import type { Clock } from "../util/time.ts";
import { plainFields } from "./log-fields.ts";
import { prettyLine } from "./pretty-line.ts";

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

/** Held back at most while nobody reads; later lines are dropped then. */
const MAX_BUFFERED = 8 * 2 ** 20;

/** Names no field has; one that comes in by mistake is not printed. */
const forbidden = ["secret", "password", "token", "authorization", "cookie", "accessToken"];

export function createLogger({ level, format, clock, sink = standardOutput() }: LoggerOptions): {
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
  return { log: toLog(logger), flush: () => sink.flushSync() };
}

function toLog(logger: Logger): Log {
  return {
    debug: (fields, message) => {
      if (logger.isLevelEnabled("debug")) logger.debug(plainFields(fields), message);
    },
    info: (fields, message) => logger.info(plainFields(fields), message),
    warn: (fields, message) => logger.warn(plainFields(fields), message),
    error: (fields, message) => logger.error(plainFields(fields), message),
    child: (fields: LogFields) => toLog(logger.child(plainFields(fields))),
  };
}

function pretty(sink: LogSink): DestinationStream {
  return { write: (line) => sink.write(prettyLine(line)) };
}

/** Asynchronous, since a reader that stalls must not hold up the renewal of the lease. */
function standardOutput(): LogSink {
  const stream = destination({ dest: 1, sync: false, maxLength: MAX_BUFFERED });
  // A full disk or a closed pipe costs lines, never the process.
  stream.on("error", () => undefined);
  return {
    write: (line) => void stream.write(line),
    flushSync: () => {
      try {
        stream.flushSync();
      } catch {
        // There is nowhere left to say it.
      }
    },
  };
}
