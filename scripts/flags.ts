/** The flags of a task of this project. `--help` lists them; a wrong one ends with a line instead of a stack trace. */
import { type ParseArgsOptionDescriptor, type ParseArgsOptionsConfig, parseArgs } from "node:util";

/** Prints and ends the process where there is nothing to run. */
export function readFlags<const Options extends ParseArgsOptionsConfig>(
  task: string,
  options: Options,
): ReturnType<typeof parseArgs<{ options: Options }>>["values"] {
  if (process.argv.slice(2).some((arg) => arg === "--help" || arg === "-h")) {
    console.log(usageOf(task, options));
    process.exit(0);
  }
  try {
    return parseArgs({ options }).values;
  } catch (error) {
    const [what = ""] = (error instanceof Error ? error.message : String(error)).split(". ");
    console.error(`${what}.\n${usageOf(task, options)}`);
    process.exit(2);
  }
}

function usageOf(task: string, options: ParseArgsOptionsConfig): string {
  const flags = Object.entries(options).map(
    ([name, option]) => `  --${name}${placeholderOf(option)}`,
  );
  return [`Usage: npm run ${task} -- [flags]`, ...flags].join("\n");
}

function placeholderOf({ type, default: fallback }: ParseArgsOptionDescriptor): string {
  if (type === "boolean") return "";
  return typeof fallback === "string" ? ` VALUE (default ${fallback})` : " VALUE";
}
