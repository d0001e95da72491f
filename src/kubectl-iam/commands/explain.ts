/** `explain`: prints what a reason means and what to do. */
import { type Reason, withoutMarkup } from "../../api/reasons/reason.ts";
import { reasons } from "../../api/reasons/sections.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { screenOf, wrap } from "../view/screen.ts";

export async function run({ io, args: [wanted] }: Invocation): Promise<ExitCode> {
  if (wanted === undefined) {
    for (const name of Object.keys(reasons).toSorted()) io.print(name);
    return exitCode.ok;
  }
  const found = Object.entries(reasons).find(
    ([name]) => name.toLowerCase() === wanted.toLowerCase(),
  );
  if (found === undefined)
    throw new UsageError(
      `"${wanted}" is not a reason of the operator: kubectl iam explain lists all reasons`,
    );
  const [name, reason] = found;
  io.print(screenOf(io).paint("bold", name));
  for (const line of linesOf(reason)) io.print(wrap(line, io.width).join("\n  "));
  return exitCode.ok;
}

function linesOf({ meaning, check, fix = "no action is required.", commands = [] }: Reason) {
  const actions = [...(check === undefined ? [] : [`Check: ${check}`]), `Fix: ${fix}`];
  return [
    withoutMarkup(meaning),
    ...actions.map((text) => `- ${withoutMarkup(text)}`),
    ...commands.map((command) => `    ${command}`),
  ];
}
