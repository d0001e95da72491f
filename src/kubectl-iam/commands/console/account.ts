/** `getServiceAccount`. */
import type { Invocation } from "../../cli/command.ts";
import { Failure } from "../../cli/errors.ts";
import { printAnswer } from "../../console/print.ts";
import { openConsole } from "../../console/session.ts";
import { field, renderFields } from "../../view/fields.ts";
import { screenOf } from "../../view/screen.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, args } = invocation;
  const [saId = ""] = args;
  await using session = await openConsole(invocation, "user");
  const account = await session.client.getServiceAccount(saId);
  const answer = session.answers.at(-1);
  if (account === undefined)
    throw new Failure(
      `account ${saId} does not exist in the console (request ${answer?.requestId ?? "without id"}); kubectl iam console accounts lists the accounts`,
    );
  const fields = [
    field("Account", account.saId),
    field("Name", account.name),
    field("Status", account.status),
    field("TPN", account.tpn),
    field("Organization", account.orgId),
    field("Project", account.projectId),
    field("Description", account.description || undefined),
    field("Keys", ...(account.keyIds ?? ["not listed by this console"])),
  ];
  await printAnswer(invocation, session, () => io.print(renderFields(fields, screenOf(io))));
}
