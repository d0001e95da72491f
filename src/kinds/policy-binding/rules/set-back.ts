/** The process state of an account after the clock was set back. Pure. */
import { CLOCK_TOLERANCE_MS } from "../../../util/agreed-time.ts";
import { HOUR, type Instant } from "../../../util/time.ts";
import { type AccountBindingsState, NEVER_READ } from "./state.ts";

/** The longest pause, and the longest time for which a refusal stands. */
const LONGEST_MS = HOUR;

/** The state without times that are still to come: the bindings are read at once, and every pause is over. */
export function withoutTimesToCome(
  state: AccountBindingsState,
  now: Instant,
): AccountBindingsState {
  const { lastReadTime, unreadSince, vanished, unbound, unanswered, pause, refusals } = state;
  const isToCome = (time = 0) => time > now + CLOCK_TOLERANCE_MS;
  const isTooLong = (until = 0) => isToCome(until - LONGEST_MS);
  return {
    ...state,
    lastReadTime: isToCome(lastReadTime) ? NEVER_READ : lastReadTime,
    unreadSince: isToCome(unreadSince) ? undefined : unreadSince,
    vanished: isToCome(vanished?.since) ? undefined : vanished,
    unbound: isToCome(unbound?.time) ? undefined : unbound,
    unanswered: unanswered && isToCome(unanswered.time) ? { ...unanswered, time: now } : unanswered,
    pause: isTooLong(pause?.until) ? undefined : pause,
    refusals: new Map([...refusals].filter(([, { until }]) => !isTooLong(until))),
  };
}
