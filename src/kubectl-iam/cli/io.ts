/** What a command has of the outside: streams, terminal, environment, time. */
import type { Clock } from "../../util/time.ts";

export interface Io {
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Width of the terminal; `undefined` where output goes to a file or a pipe. */
  readonly width: number | undefined;
  readonly hasColor: boolean;
  /** Whether there is a person to ask. */
  readonly isInteractive: boolean;
  /** What was asked for. */
  print(text: string): void;
  /** What a person should know besides. */
  note(text: string): void;
  /** Whether {@link Io.progress} shows anything. */
  readonly hasProgress: boolean;
  /** One line that the next one replaces; nothing where there is no terminal. `undefined` takes it away. */
  progress(text: string | undefined): void;
  /** Everything that comes in on standard input. */
  readInput(): Promise<string>;
  /** Asks on the terminal. A hidden answer is not shown while it is typed. */
  ask(question: string, options?: { readonly hidden?: boolean }): Promise<string>;
  /** Ends when the person presses Ctrl-C. */
  readonly interrupted: AbortSignal;
}
