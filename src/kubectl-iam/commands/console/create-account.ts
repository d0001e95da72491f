/** `createServiceAccount`. */
import type { Invocation } from "../../cli/command.ts";
import { UsageError } from "../../cli/errors.ts";
import { printAnswer } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";
import { explainUncertainOutcome } from "../../console/uncertain-outcome.ts";
import { printValue } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  await using session = await openConsole(invocation, "user");
  const { orgId, projectId: ofConnection } = session.target;
  const projectId = options.projectId ?? ofConnection;
  if (projectId === undefined) throw new UsageError("give --project-id: the connection names none");
  const account = { orgId, projectId, name: args[0] ?? "", description: options.description ?? "" };
  if (options.printOnly) return await printValue(invocation, account);
  const created = await explainUncertainOutcome(
    session.client.createServiceAccount(account),
    "kubectl iam console accounts shows whether the account exists",
  );
  const tpn = created.tpn === undefined ? "" : ` (${created.tpn})`;
  await printAnswer(invocation, session, () => io.print(`account ${created.saId} created${tpn}`));
}
