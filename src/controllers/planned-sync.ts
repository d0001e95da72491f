/** The line of a plan for syncBindings: the changes that replacing the list would cause. */
import type { PlannedCall } from "../api/plan.ts";
import type { IamReader } from "../iam/client/reader.ts";
import { isIamError } from "../iam/errors.ts";
import type { BindingSet, LiveBindings } from "../iam/model.ts";
import { asSubmitted } from "../util/spelling.ts";

export async function plannedSync(
  { tpn, orgId, policyIds }: BindingSet,
  console: IamReader,
  signal: AbortSignal,
): Promise<PlannedCall> {
  const bound = await readBindings(console, tpn, signal);
  const names = await policyNames(console, orgId, signal);
  const before = bound.readable ? asSubmitted(bound.policyIds, policyIds) : [];
  const without = (list: readonly string[], others: readonly string[]) =>
    list.filter((id) => !others.includes(id)).map((id) => names.get(id) ?? id);
  const bind = without(policyIds, before);
  const unbind = without(before, policyIds);
  const parts = [
    bind.length === 0 ? "" : `Binds ${bind.join(", ")}.`,
    unbind.length === 0 ? "" : `Unbinds ${unbind.join(", ")}.`,
    bound.readable ? "" : "Unbinds everything else; the bound policies cannot be read.",
  ];
  const said = parts.filter((part) => part !== "").join(" ");
  const message = said || "Submits the already bound policies.";
  return { call: "syncBindings", object: tpn, message, bind, unbind };
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

/**
 * `ID (name)` by ID. Names only make a plan easier to read: without permission to list policies, a plan has only IDs.
 */
async function policyNames(
  console: IamReader,
  orgId: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  try {
    const policies = await console.listPolicies({ orgId }, signal);
    return new Map(
      policies.flatMap(({ policyId, name }) => (name ? [[policyId, `${policyId} (${name})`]] : [])),
    );
  } catch (error) {
    if (isIamError(error)) return new Map();
    throw error;
  }
}
