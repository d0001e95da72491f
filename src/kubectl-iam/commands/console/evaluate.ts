/** `evaluatePolicy`. */
import type { Invocation } from "../../cli/command.ts";
import { readBody } from "../../console/body.ts";
import { printJson } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";

export async function run(invocation: Invocation): Promise<void> {
  const body = await readBody(invocation);
  await using session = await openConsole(invocation, "user");
  await printJson(invocation, await session.client.evaluatePolicy(body));
}
