import { exitCode } from "./errors.ts";
import { processIo } from "./process-io.ts";
import { runProgram } from "./program.ts";

/** Runs the plugin as a process; returns the exit status. */
export async function main(process: NodeJS.Process): Promise<number> {
  // A reader such as `head` can close the pipe before everything is written.
  process.stdout.on("error", () => process.exit(exitCode.ok));
  const io = processIo(process);
  const args = process.argv.slice(2);
  try {
    if (args[0] === "__complete") {
      const { complete } = await import("./complete.ts");
      await complete(args.slice(1), io);
      return exitCode.ok;
    }
    return await runProgram(args, io);
  } catch (error) {
    const { describeError } = await import("./describe-error.ts");
    const { message, code } = describeError(error);
    io.progress(undefined);
    io.note(`error: ${message}`);
    return code;
  }
}
