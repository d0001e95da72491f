import { version } from "../../app/version.ts";
import type { Run } from "../cli/command.ts";
import { exitCode } from "../cli/errors.ts";

export const run: Run = async ({ io }) => {
  io.print(`kubectl-iam ${version}`);
  return exitCode.ok;
};
