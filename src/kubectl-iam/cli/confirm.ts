import type { Invocation } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";

/**
 * Returns if the user agrees, or passed `--yes` or `--dry-run`. Throws Failure if the user declines, and UsageError if
 * the session is not interactive.
 */
export async function confirm({ io, options }: Invocation, question: string): Promise<void> {
  if (options.yes || options.dryRun) return;
  if (!io.isInteractive)
    throw new UsageError(`${question} Standard input is not a terminal: confirm with --yes.`);
  const answer = await io.ask(`${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("Nothing was changed.");
}
