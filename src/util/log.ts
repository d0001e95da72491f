/** Plain values, by field names that are the same everywhere. Never objects, bodies, URLs with a query, or secrets. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined | Error | readonly string[]>
>;

/** Structured logging: a constant message with values as fields. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  /** A change outside the process. */
  info(fields: LogFields, message: string): void;
  /** A failure that is retried. */
  warn(fields: LogFields, message: string): void;
  /** A bug, or manual action is required. */
  error(fields: LogFields, message: string): void;
  child(fields: LogFields): Log;
}

/** Drops everything; for tests and tools. */
export const silentLog: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
};
