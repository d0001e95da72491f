/** What a command ends with. */
export const exitCode = {
  ok: 0,
  /** Something failed, or was found that needs a person. */
  problem: 1,
  /** The command line cannot be carried out as it is; nothing was changed. */
  usage: 2,
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
