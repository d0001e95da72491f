/** `explain`: prints what a reason means and what to do, or a sentence about each reason. */
import { withoutMarkup } from "../../api/reasons/reason.ts";
import { reasons } from "../../api/reasons/sections.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { screenOf, wrap } from "../view/screen.ts";
import { type Column, renderTable } from "../view/table.ts";

interface Row {
  readonly name: string;
  readonly sentence: string;
}

const columns: readonly Column<Row>[] = [
  { title: "REASON", cell: ({ name }) => name },
  { title: "MEANING", cell: ({ sentence }) => sentence, flexible: true },
];

function rows(): readonly Row[] {
  return Object.entries(reasons)
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(([name, { meaning }]) => {
      const [sentence = ""] = withoutMarkup(meaning).split(/(?<=[.!?]) (?=[A-Z])/);
      return { name, sentence };
    });
}

export async function run({ io, args: [wanted] }: Invocation): Promise<void> {
  if (wanted === undefined) {
    io.print(renderTable(rows(), columns, screenOf(io)));
    return;
  }
  const found = Object.entries(reasons).find(
    ([name]) => name.toLowerCase() === wanted.toLowerCase(),
  );
  if (found === undefined)
    throw new UsageError(
      `"${wanted}" is not a reason of the operator: kubectl iam explain lists all reasons`,
    );
  const [name, { meaning, check, fix = "no action is required.", commands = [] }] = found;
  io.print(screenOf(io).paint("bold", name));
  io.print(wrap(withoutMarkup(meaning), io.width).join("\n"));
  if (check !== undefined) printEntry(io, `Check: ${check}`);
  printEntry(io, `Fix: ${fix}`);
  // Not wrapped, so that they can be copied.
  for (const command of commands) io.print(`    ${command}`);
}

function printEntry(io: Io, text: string): void {
  io.print(wrap(`- ${withoutMarkup(text)}`, io.width).join("\n  "));
}
