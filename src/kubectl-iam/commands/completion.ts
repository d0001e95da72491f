/** `completion`: scripts that ask the plugin for candidates. */

import { ownEntry } from "../../util/own-entry.ts";
import type { Invocation } from "../cli/command.ts";
import { scripts } from "../cli/completion-scripts.ts";
import { UsageError } from "../cli/errors.ts";

export async function run({ io, args: [shell = ""] }: Invocation): Promise<void> {
  const script = ownEntry(scripts, shell);
  if (script === undefined)
    throw new UsageError(`unsupported shell "${shell}": choose ${Object.keys(scripts).join(", ")}`);
  io.print(script);
}
