/** What the effects of an ApiKey share. */
import { type EventReason, toEvent } from "../../../api/events.ts";
import { type Answered, defineEffect } from "../../../reconciler/effects.ts";
import { SpecError } from "../../../reconciler/errors.ts";
import type { EventOf } from "../../../reconciler/rules/report.ts";
import { accountOf } from "../rules/accounts.ts";
import {
  type ApiKeyKind,
  type ApiKeyMemory,
  type ApiKeyReading,
  type ApiKeyRun,
  type ApiKeySnapshot,
  nothingRemembered,
  type ReadyAccount,
} from "../rules/snapshot.ts";
import type { IssuedPair, KeyAccount } from "../secret/pair.ts";

/** An effect whose answer is the snapshot after it, unless it says otherwise. */
export function keyEffect<Input = void, Answer = ApiKeySnapshot>(
  does: Parameters<typeof defineEffect<ApiKeyKind, ApiKeySnapshot, Input, Answer>>[0],
) {
  return defineEffect(does);
}

interface Conclusion<Input> {
  readonly kind: string;
  readonly whileSuspended?: boolean;
  readonly needsFinalizer?: boolean;
  /** Updates data of the process that spans objects. */
  note?(input: Input, snapshot: ApiKeySnapshot): void;
  /** Pure. */
  after(
    input: Input,
    snapshot: ApiKeySnapshot,
    run: Pick<ApiKeyReading, "clock">,
  ): Answered<ApiKeyKind, ApiKeySnapshot>;
}

/** A conclusion from what the run knows, without a call. A plan draws it too, but without `note`. */
export function concluding<Input = void>({ note, after, ...named }: Conclusion<Input>) {
  return keyEffect<Input>({
    ...named,
    isMinor: true,
    call: async (input, snapshot, run) => {
      note?.(input, snapshot);
      return after(input, snapshot, run);
    },
    planned: after,
  });
}

/** Changes what the process remembers, whatever the outcome of the run. The snapshot must have the same change. */
export function remembering(change: Partial<ApiKeyMemory>) {
  return (before = nothingRemembered): ApiKeyMemory => ({ ...before, ...change });
}

/** An event about the ApiKey. */
export function about(
  { object }: ApiKeySnapshot,
  reason: EventReason,
  action: string,
  note: string,
): EventOf {
  return { object, event: toEvent(reason, action, note) };
}

/** Writes the status as a run reports it that has come this far. Rejects with Conflict if the object has changed. */
export async function writeStatus(
  snapshot: ApiKeySnapshot,
  run: ApiKeyRun,
  ...outcome: Parameters<ApiKeyRun["writeStatus"]> extends [unknown, ...infer Rest] ? Rest : never
): Promise<ApiKeySnapshot> {
  return run.writeStatus(snapshot, ...outcome);
}

/**
 * The account of a key, and its console; without a key, the account for which keys are issued. A run yields effects that
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
