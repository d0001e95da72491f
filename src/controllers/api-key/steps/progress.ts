/** Helpers that the steps of an ApiKey share. Pure. */
import { type EventReason, toEvent } from "../../../api/events.ts";
import { SpecError } from "../../frame/errors.ts";
import {
  type ApiKeyDone,
  type ApiKeyMemory,
  type ApiKeyPerformed,
  type ApiKeyProgress,
  type ApiKeySnapshot,
  nothingRemembered,
  type ReadyAccount,
} from "../rules/snapshot.ts";

export function withSnapshot(
  { snapshot, done }: ApiKeyProgress,
  change: Partial<ApiKeySnapshot>,
): ApiKeyProgress {
  return { snapshot: { ...snapshot, ...change }, done };
}

export function withDone({ snapshot, done }: ApiKeyProgress, change: ApiKeyDone): ApiKeyProgress {
  return { snapshot, done: { ...done, ...change } };
}

/** Changes what the process remembers, whatever the outcome of the run. */
export function remembering(
  progress: ApiKeyProgress,
  change: Partial<ApiKeyMemory>,
): ApiKeyPerformed {
  return {
    ...withSnapshot(progress, change),
    remember: (before = nothingRemembered) => ({ ...before, ...change }),
  };
}

/** The account and its console. Rules return actions that call the console only if the account is ready. */
export function readyAccount({ account }: ApiKeySnapshot): ReadyAccount {
  if (account.kind === "Ready") return account;
  throw new SpecError("ServiceAccountNotReady", "The ServiceAccount is not ready.");
}

/** The progress after a step, with one more event about the object. */
export function withEvent(
  { events = [], ...performed }: ApiKeyPerformed,
  reason: EventReason,
  action: string,
  note: string,
): ApiKeyPerformed {
  const { object } = performed.snapshot;
  return { ...performed, events: [...events, { object, event: toEvent(reason, action, note) }] };
}
