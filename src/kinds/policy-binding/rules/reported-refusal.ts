/** The console's refusal of policies as an object reports it, for a process that does not remember it. Pure. */
import { findCondition } from "../../../api/conditions.ts";
import type { PolicyBinding } from "../../../api/policy-binding.ts";
import { listed, without } from "./policy-set.ts";
import { withoutRefused } from "./state.ts";
import type { BindingView } from "./views.ts";

/** Without the policies of its spec that the console refused, if neither the spec nor a request is newer than that. */
export function withReported(view: BindingView, { status }: PolicyBinding): BindingView {
  const ready = findCondition(status?.conditions, "Ready");
  const policyIds = without(view.policyIds, view.applied);
  const isOfSpec =
    ready?.observedGeneration === view.generation && view.requestedAt === view.handledAt;
  if (ready?.reason !== "PolicyRefused" || !isOfSpec || policyIds.length === 0) return view;
  const message = `The console refused to bind ${listed(policyIds)}, as last reported.`;
  return withoutRefused(view, {
    policyIds,
    problem: { reason: ready.reason, message, advice: "" },
  });
}
