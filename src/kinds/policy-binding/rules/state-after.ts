/** The process state of an account after a run. Pure. */
import type { Outcome } from "../../../reconciler/rules/outcome.ts";
import { PLAN_ONLY } from "../../../reconciler/rules/plan-only.ts";
import { evaluate, isUnread, isUsable, type UsableSnapshot } from "./evaluate.ts";
import { desiredState, dueAt, tokenOf } from "./read-schedule.ts";
import type { BindingsSnapshot } from "./snapshot.ts";
import { type AccountBindingsState, NEVER_READ, stateIn } from "./state.ts";
import { isWithoutReport } from "./without-report.ts";

export function stateAfter(
  snapshot: BindingsSnapshot,
  outcome: Outcome,
  current: AccountBindingsState | undefined,
): AccountBindingsState | undefined {
  const { account, source } = snapshot;
  if (source === "Behind") return current;
  if (account === undefined) return undefined;
  const state = stateIn(snapshot, current);
  if (state === undefined) return undefined;
  if (isWithoutReport(outcome)) return state;
  if (outcome.kind === "Failed") return { ...state, hasFailed: true };
  const ended = { ...state, hasFailed: false };
  // A plan has changed nothing, so the next plan asks again.
  if (outcome.kind === "Waiting" && outcome.reason === PLAN_ONLY)
    return { ...ended, lastReadTime: NEVER_READ };
  return outcome.kind === "Settled" && isUsable(snapshot) ? afterDecision(snapshot, ended) : ended;
}

function afterDecision(
  snapshot: UsableSnapshot,
  state: AccountBindingsState,
): AccountBindingsState {
  const { decision, contendedUntil } = evaluate(snapshot);
  const ended = { ...state, isolating: decision.postponed.size > 0 };
  if (snapshot.live === undefined) return ended;
  const asked = {
    ...ended,
    lastReadTime: snapshot.now,
    unreadSince:
      decision.blocked === undefined && isUnread(snapshot)
        ? (state.unreadSince ?? snapshot.now)
        : undefined,
    handledToken: tokenOf(snapshot.account),
  };
  const until = contendedUntil ?? dueAt(snapshot, asked);
  const pause = { desired: desiredState(snapshot), until };
  return { ...asked, pause: decision.blocked === undefined ? undefined : pause };
}
