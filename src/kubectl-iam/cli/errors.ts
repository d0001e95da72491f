/** The exit status of a command. Each number has one meaning for every command; `diff` is as `kubectl diff`. */
export const exitCode = {
  ok: 0,
  /** Done, and found something: an object that is not ready, a difference, a key without an owner. */
  found: 1,
  /** The command line cannot be carried out as it is; nothing was changed. */
  usage: 2,
  /** It did not work, was declined, or was not done in time. */
  failed: 3,
} as const;
export type ExitCode = (typeof exitCode)[keyof typeof exitCode];

/** The command line is wrong; the message says what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** It did not work; the message is a whole sentence for a person. */
export class Failure extends Error {
  override readonly name = "Failure";
}
