/** Fields that are the same everywhere, plus plain values. Never objects, bodies, URLs with a query, secrets. */
export type LogFields = Readonly<
  Record<string, string | number | boolean | undefined | Error | readonly string[]>
>;

/** Structured logging: a constant message, values as fields. */
export interface Log {
  debug(fields: LogFields, message: string): void;
  /** Something changed in the world. */
  info(fields: LogFields, message: string): void;
  /** Will be retried. */
  warn(fields: LogFields, message: string): void;
  /** A person must act, or a bug. */
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
