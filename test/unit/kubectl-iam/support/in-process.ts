import { describeError } from "../../../../src/kubectl-iam/cli/describe-error.ts";
import type { Io } from "../../../../src/kubectl-iam/cli/io.ts";
import { runProgram } from "../../../../src/kubectl-iam/cli/program.ts";
import { systemClock } from "../../../../src/util/time.ts";
import { fakeIo } from "./fake-io.ts";
import type { Ended, RunOptions } from "./plugin.ts";

/** As `kubectl iam …` without a terminal, but in this process, which is faster by a second. */
export async function runInProcess(
  args: readonly string[],
  { input = "", columns, environment = {} }: RunOptions = {},
  settings: Partial<Io> = {},
): Promise<Ended> {
  const { io, printed, noted } = fakeIo({
    clock: systemClock,
    environment,
    width: columns,
    readInput: async () => input,
    ...settings,
  });
  const code = await runProgram(args, io).catch((error: unknown) => {
    const ending = describeError(error);
    noted.push(`error: ${ending.message}`);
    return ending.code;
  });
  const lines = (texts: readonly string[]) => texts.map((text) => `${text}\n`).join("");
  return { code, output: lines(printed), notes: lines(noted) };
}
