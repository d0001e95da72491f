import { Registry } from "prom-client";
import { type Config, ConfigError, readCommand } from "./config.ts";
import { runProcess } from "./process.ts";
import { version } from "./version.ts";

/** Prints the requested text or runs the operator; returns the exit status. */
async function main(args: readonly string[]): Promise<number> {
  const command = readCommand(args);
  switch (command.kind) {
    case "Help":
      process.stdout.write(`${command.text}\n`);
      return 0;
    case "Version":
      process.stdout.write(`iam-operator ${version}\n`);
      return 0;
    case "Run":
      return run(command.config);
  }
}

function run(config: Config): Promise<number> {
  return runProcess(config, new Registry());
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const known = error instanceof ConfigError || error instanceof Error;
    process.stderr.write(`iam-operator: ${known ? error.message : String(error)}\n`);
    process.exit(error instanceof ConfigError ? 2 : 1);
  },
);
