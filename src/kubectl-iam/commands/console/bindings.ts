/** `listBindings`. */
import type { Invocation } from "../../cli/command.ts";
import { Failure } from "../../cli/errors.ts";
import { printAnswer } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";
import { printTable } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { args } = invocation;
  await using session = await openConsole(invocation, "user");
  const bindings = await session.client.listBindings(args[0] ?? "");
  await printAnswer(invocation, session, () => {
    if (!bindings.readable)
      throw new Failure(
        "the console's answer holds no list of policies that can be read; -o json shows it",
      );
    return printTable(invocation, {
      rows: bindings.policyIds,
      columns: [{ title: "POLICY-ID", cell: (policyId) => policyId }],
      empty: "No policy is bound.",
    });
  });
}
