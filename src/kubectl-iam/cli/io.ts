/** What a command uses of its environment: streams, terminal, variables, time. */
import type { Clock } from "../../util/time.ts";

export interface Io {
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Width of the terminal; `undefined` if the output goes to a file or a pipe. */
  readonly width: number | undefined;
  readonly hasColor: boolean;
  /** Whether the command can ask the user. */
  readonly isInteractive: boolean;
  /** Prints the result. */
  print(text: string): void;
  /** Prints additional information for the user. */
  note(text: string): void;
  /** Whether {@link Io.progress} shows anything. */
  readonly hasProgress: boolean;
  /** One line that the next one replaces; prints nothing without a terminal. `undefined` removes the line. */
  progress(text: string | undefined): void;
  /** Reads standard input to its end. Throws UsageError if it is not UTF-8 text. */
  readInput(): Promise<string>;
  /** Asks on the terminal. A hidden answer is not shown while it is typed. */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string>;
  /** Aborted when the user presses Ctrl-C. */
  readonly interrupted: AbortSignal;
}
