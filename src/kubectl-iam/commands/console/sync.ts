/** `syncBindings`. */
import { toCall } from "../../../console/client/endpoint.ts";
import { endpoints } from "../../../console/endpoints.ts";
import type { LiveBindings } from "../../../console/model.ts";
import { asSubmitted } from "../../../util/spelling.ts";
import type { Invocation } from "../../cli/command.ts";
import { confirm } from "../../cli/confirm.ts";
import { UsageError } from "../../cli/errors.ts";
import { openConsole } from "../../console/session.ts";
import { printValue } from "../../view/output.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  const [tpn = ""] = args;
  const policyIds = [...new Set(options.policy ?? [])];
  if ((policyIds.length === 0) !== (options.none === true))
    throw new UsageError(
      "the policies to bind are required: --policy for each policy, or --none to unbind all",
    );
  await using session = await openConsole(invocation, "user");
  const bindings = { tpn, orgId: session.target.orgId, policyIds };
  if (options.printOnly)
    return await printValue(
      invocation,
      toCall("syncBindings", endpoints.syncBindings, bindings).body,
    );
  io.note(describe(await session.client.listBindings(tpn), policyIds));
  await confirm(invocation, "The list replaces all bound policies. Send it?");
  await session.client.syncBindings(bindings);
  io.print(`${tpn} has ${policyIds.join(", ") || "no policy"} bound`);
}

function describe(before: LiveBindings, wanted: readonly string[]): string {
  if (!before.readable) return "The console's answer does not show the bound policies.";
  const bound = asSubmitted(before.policyIds, wanted);
  const added = wanted.filter((policyId) => !bound.includes(policyId));
  const removed = bound.filter((policyId) => !wanted.includes(policyId));
  return `Binds ${added.join(", ") || "nothing new"}; unbinds ${removed.join(", ") || "nothing"}.`;
}
