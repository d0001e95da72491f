/** What the effects of an ApiKey's actions share: their surroundings, status writes and events. */

import { API_VERSION } from "../../api/meta.ts";
import type { IamClient } from "../../iam/client/client.ts";
import type { Context } from "../frame/context.ts";
import { SpecError } from "../frame/spec-error.ts";
import { writeStatus } from "../frame/status-writer.ts";
import { apiKeyType } from "../resource-types.ts";
import type { AccountTurn } from "./account-turn.ts";
import type { Memory } from "./memory.ts";
import type { Moment, Timing } from "./moment.ts";
import type { Account, Observed } from "./observed.ts";
import { type Ending, statusOf } from "./report.ts";

export interface Surroundings {
  readonly context: Context;
  readonly client: IamClient | undefined;
  readonly memory: Memory;
  readonly turn: AccountTurn;
  readonly timing: Timing;
  /** Ends reads and waits; never handed to a call whose answer must not be lost. */
  readonly signal: AbortSignal;
}

/** A failure that has changed what is true: the pass ends with `cause`, and reports `seen`. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
  readonly seen: Observed;

  constructor(seen: Observed, cause: unknown) {
    super("the pass was interrupted", { cause });
    this.seen = seen;
  }
}

export function momentOf({ context: { clock } }: Surroundings): Moment {
  return { now: clock.now(), monotonic: clock.monotonic() };
}

/**
 * Writes the status that `seen` stands for, on condition that nobody has changed the object since (Conflict).
 * Answers what is seen then.
 */
export async function record(
  seen: Observed,
  ending: Ending,
  around: Surroundings,
): Promise<Observed> {
  const { context } = around;
  const object = await writeStatus(
    context,
    apiKeyType,
    context.caches.apiKeys,
    seen.object,
    statusOf(seen, ending, momentOf(around)),
    { resourceVersion: seen.object.metadata.resourceVersion },
  );
  return { ...seen, object };
}

/** The account and its console. Plans call for them only where the account is ready. */
export function readyAccount(
  { account }: Observed,
  { client }: Surroundings,
): { readonly account: Account; readonly client: IamClient } {
  if (account.kind !== "Ready" || client === undefined)
    throw new SpecError("ServiceAccountNotReady", "The ServiceAccount is not ready.");
  return { account, client };
}

export function tell(
  { object }: Observed,
  { context }: Surroundings,
  reason: string,
  action: string,
  note: string,
  type: "Normal" | "Warning" = "Normal",
): void {
  context.events.record(
    { apiVersion: API_VERSION, kind: apiKeyType.kind, metadata: object.metadata },
    { type, reason, action, note },
  );
}
