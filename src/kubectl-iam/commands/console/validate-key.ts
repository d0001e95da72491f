/** `validateKey`. */
import type { Invocation } from "../../cli/command.ts";
import { readBody } from "../../console/body.ts";
import { printJson } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";

export async function run(invocation: Invocation): Promise<void> {
  await using session = await openConsole(invocation, "anonymous");
  const body = await readBody(invocation, session.key);
  await printJson(invocation, await session.client.validateKey(body));
}
