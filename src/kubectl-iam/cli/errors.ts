/** The exit status of a command. Each number has one meaning for every command; `diff` exits like `kubectl diff`. */
export const exitCode = {
  ok: 0,
  /** The command succeeded and found something: an object that is not ready, a difference, a key without an owner. */
  found: 1,
  /** The command line is invalid or lacks a decision; nothing is done but reads. */
  usage: 2,
  /** The command failed, was declined, or timed out. */
  failed: 3,
  /**
   * `diff`, `orphans`, `doctor`, `uninstall`, `status` of a kind: the result is unknown, because something cannot be or is
   * not yet read.
   */
  unknown: 4,
} as const;
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/** The command line is invalid; the message says what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The command failed; the message is a whole sentence for the user. */
export class Failure extends Error {
  override readonly name = "Failure";
}

/** The result is unknown because of `cause`, which has the message. */
export class Unknown extends Error {
  override readonly name = "Unknown";

  constructor(cause: unknown) {
    super("unknown", { cause });
  }
}
