/** The line of a plan for syncBindings: the changes that replacing the list would cause. */

import type { PlannedCall } from "../api/plan.ts";
import type { IamReader } from "../console/client/reader.ts";
import { isIamError } from "../console/errors.ts";
import type { BindingSet, IamPolicy, LiveBindings } from "../console/model.ts";
import { asSubmitted } from "../util/spelling.ts";

/** `policies`: the organization's policies, if the console lists them. */
export async function plannedSync(
  { tpn, policyIds }: Omit<BindingSet, "orgId">,
  policies: readonly IamPolicy[] | undefined,
  console: IamReader,
  signal: AbortSignal,
): Promise<PlannedCall> {
  const bound = await readBindings(console, tpn, signal);
  const names = namesOf(policies);
  const before = bound.readable ? asSubmitted(bound.policyIds, policyIds) : [];
  const without = (list: readonly string[], others: readonly string[]) =>
    list.filter((id) => !others.includes(id));
  const named = (list: readonly string[]) => list.map((id) => names.get(id) ?? id);
  const bind = without(policyIds, before);
  const unbind = without(before, policyIds);
  const parts = [
    bind.length === 0 ? "" : `Binds ${named(bind).join(", ")}.`,
    unbind.length === 0 ? "" : `Unbinds ${named(unbind).join(", ")}.`,
    bound.readable ? "" : "Unbinds everything else; the bound policies cannot be read.",
  ];
  const said = parts.filter((part) => part !== "").join(" ");
  const message = said || "Submits the already bound policies.";
  return {
    call: "syncBindings",
    object: tpn,
    message,
    bind: named(bind),
    unbind: named(unbind),
  };
}

/** The call is planned even if the login does not have permission to read the current bindings. */
async function readBindings(
  console: IamReader,
  tpn: string,
  signal: AbortSignal,
): Promise<LiveBindings> {
  try {
    return await console.listBindings(tpn, signal);
  } catch (error) {
    if (isIamError(error, "PermissionDenied") || isIamError(error, "NotFound"))
      return { readable: false };
    throw error;
  }
}

/** `ID (name)` by ID: names make a plan easier to read. */
function namesOf(policies: readonly IamPolicy[] = []): ReadonlyMap<string, string> {
  return new Map(
    policies.flatMap(({ policyId, name }) => (name ? [[policyId, `${policyId} (${name})`]] : [])),
  );
}
