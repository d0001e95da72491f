import type { Invocation } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";

/** Returns where the person agrees, or has agreed by `--yes`. Throws UsageError where there is nobody to ask. */
export async function confirm({ io, options }: Invocation, question: string): Promise<void> {
  if (options.yes || options.dryRun) return;
  if (!io.isInteractive)
    throw new UsageError(`${question} Standard input is not a terminal: confirm with --yes.`);
  const answer = await io.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("Nothing was changed.");
}
