/** `listBindings`. */
import type { Invocation } from "../../cli/command.ts";
import { type ExitCode, exitCode, Failure } from "../../cli/errors.ts";
import { printJson } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";
import { isStructured, printTable } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { args } = invocation;
  await using session = await openConsole(invocation, "user");
  const bindings = await session.client.listBindings(args[0] ?? "");
  if (isStructured(invocation)) {
    await printJson(invocation, session.answers.at(-1)?.json ?? null);
    return exitCode.ok;
  }
  if (!bindings.readable)
    throw new Failure(
      "the console's answer holds no list of policies that can be read; -o json shows it",
    );
  await printTable(invocation, {
    rows: bindings.policyIds.map((policyId) => ({ policyId })),
    columns: [{ title: "POLICY-ID", cell: ({ policyId }) => policyId }],
    empty: "No policy is bound.",
  });
  return exitCode.ok;
}
