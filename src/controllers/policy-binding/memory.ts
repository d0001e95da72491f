/** What the process remembers about one account between passes. Losing it costs calls, never a policy. */
import type { Instant } from "../../util/time.ts";
import type { PolicySet } from "./policy-set.ts";
import type { BindingView, Problem } from "./view.ts";

export interface Refusal {
  readonly generation: number;
  readonly requestedAt: string | undefined;
  /** Tried again then, as after every change of the object. */
  readonly until: Instant;
  readonly problem: Problem;
}

export interface AccountMemory {
  /** When this process first saw the account, or last got an answer about it. */
  lookedAt: Instant;
  corrections: readonly Instant[];
  isolating: boolean;
  readonly refusals: Map<string, Refusal>;
  /** Foreign policies that an answer no longer held; believed when a later answer says so again. */
  vanished: { readonly ids: PolicySet; readonly since: Instant } | undefined;
  /** The wish for which nothing is written, and until when the console is not asked again. */
  hold: { readonly wish: string; readonly until: Instant } | undefined;
  /** The last token of the ServiceAccount's reconcile annotation that was acted on. */
  handledToken: string | undefined;
}

export function newMemory(now: Instant, handledToken: string | undefined): AccountMemory {
  return {
    lookedAt: now,
    corrections: [],
    isolating: false,
    refusals: new Map(),
    vanished: undefined,
    hold: undefined,
    handledToken,
  };
}

/** The object as judged with what the console said about it before. */
export function withRefusal(
  memory: AccountMemory,
  binding: BindingView,
  now: Instant,
): BindingView {
  const refusal = memory.refusals.get(binding.uid);
  if (refusal === undefined || binding.problem !== undefined) return binding;
  const stands =
    refusal.generation === binding.generation &&
    refusal.requestedAt === binding.requestedAt &&
    now < refusal.until;
  return stands ? { ...binding, problem: refusal.problem } : binding;
}
