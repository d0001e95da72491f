import type { ExitCode } from "./errors.ts";
import type { Io } from "./io.ts";
import type { OptionName, Options } from "./options.ts";

/** A call of a command with its parsed command line. */
export interface Invocation {
  readonly io: Io;
  readonly args: readonly string[];
  readonly options: Options;
}

/** Without an exit status, the command has succeeded. */
export type Run = (invocation: Invocation) => Promise<ExitCode> | Promise<void>;

/** What completion offers for an argument. */
type Completes = "object" | "apikey" | "serviceaccount" | "reason" | "shell";

/** A command as data. Help, completion, the reference page and the program are generated from it. */
export interface CommandSpec {
  /** Words and arguments in commander's notation: `console account <sa-id>`. */
  readonly usage: string;
  readonly group: "Look" | "Act" | "Console" | "Find out" | "Setup";
  /** One sentence. */
  readonly summary: string;
  /** More sentences of the help, one paragraph each. */
  readonly details?: readonly string[];
  readonly options: readonly OptionName[];
  readonly completes?: Completes;
  /** Without the prefix `kubectl iam`. */
  readonly examples: readonly string[];
  /** Imports the command's code on demand, so that a start does not load every command. */
  readonly load: () => Promise<{ readonly run: Run }>;
}
