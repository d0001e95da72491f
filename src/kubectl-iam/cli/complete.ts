/** Candidates for the next word of a command line, in the format that kubectl's completion reads. */
import type { CommandSpec } from "./command.ts";
import { commands } from "./commands.ts";
import { scripts } from "./completion-scripts.ts";
import type { Io } from "./io.ts";
import { withCommandFirst, withoutOptions } from "./leading-options.ts";
import { nameOf, type OptionName, options } from "./options.ts";

interface Candidate {
  readonly text: string;
  readonly help?: string;
}

/** No file names: cobra's ShellCompDirectiveNoFileComp. */
const DIRECTIVE = ":4";

/**
 * Prints the candidates for the last word, which may be empty. Never fails, because an error would disturb the prompt.
 */
export async function complete(words: readonly string[], io: Io): Promise<void> {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  const found = await candidatesFor(before, last, io).catch(() => []);
  for (const { text, help } of found)
    if (text.startsWith(last)) io.print(help === undefined ? text : `${text}\t${help}`);
  io.print(DIRECTIVE);
}

async function candidatesFor(
  before: readonly string[],
  last: string,
  io: Io,
): Promise<readonly Candidate[]> {
  const ordered = withCommandFirst(before);
  if (ordered[0] === "help") return subcommands(withoutOptions(before).slice(1));
  const spec = commandOf(ordered);
  if (spec === undefined) return subcommands(withoutOptions(before));
  const option = spec.options.find(
    (name) => takesValue(name) && names(name).includes(before.at(-1) ?? ""),
  );
  if (option !== undefined) return valuesOf(option, before, io);
  if (last.startsWith("-"))
    return spec.options.map((name) => ({
      text: nameOf(options[name].flags),
      help: options[name].help,
    }));
  return argumentsOf(spec, before, io);
}

/** The words of a command, without its arguments. */
function path({ usage }: CommandSpec): readonly string[] {
  return usage.split(" ").filter((word) => /^[a-z]/.test(word));
}

function commandOf(before: readonly string[]): CommandSpec | undefined {
  return commands.find((spec) => path(spec).every((word, index) => before[index] === word));
}

function subcommands(before: readonly string[]): readonly Candidate[] {
  const below = commands.filter((spec) =>
    before.every((word, index) => path(spec)[index] === word),
  );
  const texts = new Map(
    below.map((spec) => {
      const words = path(spec);
      const isLast = words.length === before.length + 1;
      return [
        words[before.length] ?? "",
        isLast ? spec.summary : "Make the console's calls.",
      ] as const;
    }),
  );
  return [...texts].filter(([text]) => text !== "").map(([text, help]) => ({ text, help }));
}

function takesValue(name: OptionName): boolean {
  return options[name].flags.includes("<");
}

function names(name: OptionName): readonly string[] {
  return options[name].flags.split(/[ ,]+/).filter((word) => word.startsWith("-"));
}

async function valuesOf(
  name: OptionName,
  before: readonly string[],
  io: Io,
): Promise<readonly Candidate[]> {
  const option = options[name];
  if ("choices" in option) return (option.choices ?? []).map((text) => ({ text }));
  if (!("completes" in option)) return [];
  const { namespaceNames } = await import("../cluster/complete.ts");
  return (await namespaceNames(io, given(before))).map((text) => ({ text }));
}

/** The options of the line that select the cluster and the namespace. */
function given(before: readonly string[]) {
  const chosen = (["namespace", "context", "kubeconfig", "as"] as const).flatMap((name) => {
    const index = before.findIndex((word) => names(name).includes(word));
    const value = before[index + 1];
    return index < 0 || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(chosen);
}

async function argumentsOf(
  { completes }: CommandSpec,
  before: readonly string[],
  io: Io,
): Promise<readonly Candidate[]> {
  switch (completes) {
    case undefined:
      return [];
    case "shell":
      return Object.keys(scripts).map((text) => ({ text }));
    case "reason": {
      const { reasons } = await import("../../api/reasons/sections.ts");
      return Object.keys(reasons).map((text) => ({ text }));
    }
    default: {
      const { objectNames } = await import("../cluster/complete.ts");
      return (await objectNames(io, given(before), completes)).map((text) => ({ text }));
    }
  }
}
