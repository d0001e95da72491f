/** Helpers that the steps of an ApiKey share. Pure. */
import { type EventReason, toEvent } from "../../../api/events.ts";
import { SpecError } from "../../../reconciler/errors.ts";
import { accountOf } from "../rules/accounts.ts";
import {
  type ApiKeyDone,
  type ApiKeyMemory,
  type ApiKeyPerformed,
  type ApiKeyProgress,
  type ApiKeySnapshot,
  nothingRemembered,
  type ReadyAccount,
} from "../rules/snapshot.ts";
import type { IssuedPair, KeyAccount } from "../secret/pair.ts";

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

/**
 * The account of a key, and its console; without a key, the account for which keys are issued. Rules return actions that
 * call the console only if the account is ready.
 */
export function readyAccount(snapshot: ApiKeySnapshot, key?: KeyAccount): ReadyAccount {
  const account = accountOf(key, snapshot);
  if (account.kind === "Ready") return account;
  throw new SpecError("ServiceAccountNotReady", "The ServiceAccount is not ready.");
}

/** The account of a pair; the key in use belongs to the account in the status. */
export function accountOfPair(snapshot: ApiKeySnapshot, pair: IssuedPair): ReadyAccount {
  const { current } = snapshot.status;
  const isCurrent = pair.saId === undefined && pair.keyId === current?.keyId;
  return readyAccount(snapshot, isCurrent ? current : pair);
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
