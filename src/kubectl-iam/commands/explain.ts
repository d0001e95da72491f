/** `explain`: says what a reason means and what to do. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { readTroubleshootingPage } from "../page.ts";
import { readExplanations } from "../view/explanations.ts";
import { screenOf, wrap } from "../view/screen.ts";

export async function run({ io, args: [wanted] }: Invocation): Promise<ExitCode> {
  const explanations = readExplanations(await readTroubleshootingPage());
  if (wanted === undefined) {
    for (const { reason } of explanations) io.print(reason);
    return exitCode.ok;
  }
  const found = explanations.find(({ reason }) => reason.toLowerCase() === wanted.toLowerCase());
  if (found === undefined)
    throw new UsageError(
      `"${wanted}" is not a reason of the operator: kubectl iam explain lists all reasons`,
    );
  const { paint } = screenOf(io);
  io.print(paint("bold", found.reason));
  for (const line of found.lines) {
    const isEntry = line.startsWith("- ");
    const [first = "", ...rest] = wrap(line, io.width);
    io.print([first, ...rest.map((each) => (isEntry ? `  ${each}` : each))].join("\n"));
  }
  return exitCode.ok;
}
