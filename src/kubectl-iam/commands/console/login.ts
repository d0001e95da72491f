/** `login`. */
import type { Invocation } from "../../cli/command.ts";
import { printJson } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";
import { isStructured } from "../../view/output.ts";
import { clean } from "../../view/screen.ts";

export async function run(invocation: Invocation): Promise<void> {
  await using session = await openConsole(invocation, "user");
  await session.client.authenticate();
  const answer = session.answers.at(-1);
  if (isStructured(invocation) || invocation.options.reveal)
    return await printJson(invocation, answer?.json ?? null);
  invocation.io.print(
    answer === undefined
      ? "The credentials are a token: the console was not called. Any other command tests the token."
      : `The console at ${session.target.baseURL} accepts the credentials (request ${clean(answer.requestId ?? "without id")}).`,
  );
}
