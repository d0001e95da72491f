import type { ExitCode } from "./errors.ts";
import type { Io } from "./io.ts";
import type { OptionName, Options } from "./options.ts";

/** One call of a command, with its line read. */
export interface Invocation {
  readonly io: Io;
  readonly args: readonly string[];
  readonly options: Options;
}

export type Run = (invocation: Invocation) => Promise<ExitCode>;

/** What an argument may be, for completion. */
export type Completes = "object" | "apikey" | "serviceaccount" | "reason" | "shell";

/** A command as data: the help, the completion, the reference and the program come from it. */
export interface CommandSpec {
  /** Words and arguments as commander writes them: `console account <sa-id>`. */
  readonly usage: string;
  readonly group: "Look" | "Act" | "Console" | "Find out" | "Setup";
  /** One sentence. */
  readonly summary: string;
  /** Further sentences of the help, a paragraph each. */
  readonly details?: readonly string[];
  readonly options: readonly OptionName[];
  readonly completes?: Completes;
  /** Without `kubectl iam`. */
  readonly examples: readonly string[];
  /** Loaded when it is needed: a start must not pay for all commands. */
  readonly load: () => Promise<{ readonly run: Run }>;
}
