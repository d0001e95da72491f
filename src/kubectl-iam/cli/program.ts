/** Turns the commands, which are data, into a program that parses a command line. */
import { Command, CommanderError, Option } from "commander";
import { ownEntry } from "../../util/own-entry.ts";
import type { CommandSpec } from "./command.ts";
import { commands } from "./commands.ts";
import { type ExitCode, exitCode, UsageError } from "./errors.ts";
import type { Io } from "./io.ts";
import { withCommandFirst } from "./leading-options.ts";
import { type OptionName, type Options, options } from "./options.ts";

const NAME = "kubectl iam";
const ENDINGS = `
Kinds: iamsa (ServiceAccount), iampb (PolicyBinding), iamkey (ApiKey), iamrq (ResourceQuotaExport), iamconn (Connection), iamcconn (ClusterConnection).

Exit status: 0 done; 1 found something, such as a difference or an unready object; 2 the command line is wrong or lacks a decision, and nothing was carried out; 3 failed, declined or not done in time; 4 the result is unknown (diff, orphans, doctor, uninstall, status of a kind).`;

/** Runs one command line; returns the exit status. Throws UsageError, and any error of the command. */
export async function runProgram(args: readonly string[], io: Io): Promise<ExitCode> {
  let code: ExitCode = exitCode.ok;
  const program = createProgram(io, (ended) => {
    code = ended;
  });
  if (args.length === 0) {
    io.print(program.helpInformation().trimEnd());
    return exitCode.ok;
  }
  // As for kubectl, the value is optional and is never the next word.
  const [first = "", ...rest] = withCommandFirst(
    args.map((word) => (word === "--dry-run" ? "--dry-run=client" : word)),
  );
  const words = first === "help" ? [...withCommandFirst(rest), "--help"] : [first, ...rest];
  try {
    await program.parseAsync(words, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return exitCode.ok;
    const [what = ""] = error.message.replace(/^error: /, "").split(/\.?$/);
    throw new UsageError(`${what.replaceAll("\n", " ")}; ${NAME} --help lists what there is`);
  }
  return code;
}

/** Creates the tree of commands; `onEnd` receives the exit status of the command that ran. */
function createProgram(io: Io, onEnd: (code: ExitCode) => void): Command {
  const program = configured(new Command(NAME), io)
    .description(
      "Service accounts, API keys and policies of an IAM console, and the operator that keeps them.",
    )
    .addHelpText("after", ENDINGS);
  for (const spec of commands) {
    const { parent, name } = placeOf(program, spec, io);
    addCommand(configured(parent.command(name), io), spec, io, onEnd);
  }
  return program;
}

function configured(command: Command, io: Io): Command {
  return command
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.print(text.trimEnd()),
      writeErr: () => undefined,
      getOutHelpWidth: () => io.width ?? 80,
    })
    .helpOption("-h, --help", "Show this help.")
    .helpCommand(false)
    .configureHelp({ subcommandTerm: (each) => `${each.name()} ${argumentsOf(each)}`.trimEnd() })
    .showSuggestionAfterError(true);
}

/** `console login` becomes `login` below `console`. */
function placeOf(program: Command, { usage, group }: CommandSpec, io: Io) {
  const [first = "", ...rest] = usage.split(" ");
  if (first !== "console") return { parent: program.commandsGroup(`${group}:`), name: usage };
  const existing = program.commands.find((command) => command.name() === first);
  const parent =
    existing ??
    configured(program.commandsGroup(`${group}:`).command(first), io)
      .description("Make the console's calls, through a connection, a key, or flags.")
      .argument("[call]")
      .action((call?: string) => {
        const what =
          call === undefined
            ? "a console command is required"
            : `"${call}" is an unknown console command`;
        throw new UsageError(`${what}: ${NAME} console --help lists them`);
      });
  return { parent, name: rest.join(" ") };
}

function addCommand(
  command: Command,
  spec: CommandSpec,
  io: Io,
  onEnd: (code: ExitCode) => void,
): void {
  command.description([spec.summary, ...(spec.details ?? [])].join("\n\n")).summary(spec.summary);
  for (const name of spec.options) command.addOption(toOption(name));
  const examples = spec.examples.map((example) => `  ${NAME} ${example}`);
  command.addHelpText("after", `\nExamples:\n${examples.join("\n")}`);
  if (takesNames(spec)) command.allowExcessArguments();
  command.action(async () => {
    const args = takesNames(spec) ? await namesOf(command, spec) : command.args;
    const { run } = await spec.load();
    const end = await run({ io, args, options: optionsOf(command, spec) });
    onEnd(end ?? exitCode.ok);
  });
}

/** Whether the arguments begin with names of objects, for which kubectl accepts KIND NAME in two words. */
function takesNames({ completes = "shell" }: CommandSpec): boolean {
  return ["object", "apikey", "serviceaccount"].includes(completes);
}

async function namesOf(
  { args, registeredArguments }: Command,
  { usage }: CommandSpec,
): Promise<readonly string[]> {
  const { joinKind } = await import("../cluster/kinds.ts");
  const isEndless = registeredArguments.some(({ variadic }) => variadic);
  const most = isEndless ? undefined : registeredArguments.length;
  const names = joinKind(args, most);
  if (names.length > (most ?? names.length))
    throw new UsageError(`too many arguments: write ${NAME} ${usage}`);
  return names;
}

/**
 * The options by our own names: commander calls the value of `--no-wait` `wait`, and the value of `--status` `status`.
 */
function optionsOf(command: Command, spec: CommandSpec): Options {
  const values = command.opts<Readonly<Record<string, unknown>>>();
  const given = spec.options.flatMap((name) => {
    const value = ownEntry(values, toOption(name).attributeName());
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}

function toOption(name: OptionName): Option {
  const { flags, help, ...spec } = options[name];
  const option = new Option(flags, help);
  if ("read" in spec) option.argParser(spec.read as (text: string, before: unknown) => unknown);
  return option;
}

function argumentsOf({ registeredArguments }: Command): string {
  return registeredArguments
    .map((each) => {
      const name = each.variadic ? `${each.name()}...` : each.name();
      return each.required ? `<${name}>` : `[${name}]`;
    })
    .join(" ");
}
