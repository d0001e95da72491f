/** `listPolicies`. */
import type { Invocation } from "../../cli/command.ts";
import { readPolicyRecords, type Statement } from "../../console/policy-records.ts";
import { openConsole } from "../../console/session.ts";
import { count } from "../../view/object-screen.ts";
import { isStructured, printTable, printValue } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { options } = invocation;
  await using session = await openConsole(invocation, "user");
  const policies = await session.client.listPolicies({
    orgId: session.target.orgId,
    ...(options.policyStatus === undefined ? {} : { status: options.policyStatus }),
    ...(options.search === undefined ? {} : { search: options.search }),
  });
  const records = readPolicyRecords(session.answers.at(-1)?.json);
  if (isStructured(invocation))
    return await printValue(invocation, { items: records.map(({ json }) => json) });
  const statements = new Map(records.map((record) => [record.policyId, record.statements]));
  await printTable(invocation, {
    rows: policies,
    columns: [
      { title: "POLICY-ID", cell: ({ policyId }) => policyId },
      { title: "NAME", cell: ({ name }) => name ?? "not shown" },
      { title: "KIND", cell: ({ kind }) => kind ?? "" },
      {
        title: "STATEMENTS",
        cell: ({ policyId }) => summary(statements.get(policyId)),
      },
      {
        title: "ACTIONS",
        cell: ({ policyId }) =>
          (statements.get(policyId) ?? []).flatMap(({ actions }) => actions).join(" "),
        wide: true,
      },
    ],
    empty: "The console lists no policies.",
  });
}

function summary(statements: readonly Statement[] | undefined): string {
  if (statements === undefined) return "not shown";
  return statements
    .map(({ effect, actions }) => `${effect} ${count(actions.length, "action")}`)
    .join(", ");
}
