import type { Run } from "../cli/command.ts";
import { setSuspend } from "../cluster/set-suspend.ts";

export const run: Run = (invocation) => setSuspend(invocation, true);
