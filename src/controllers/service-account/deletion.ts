/** What is left to do for an object that is being deleted. */
import type { Readiness } from "../../api/conditions.ts";
import type { IamClient } from "../../iam/client/client.ts";
import { isIamError } from "../../iam/errors.ts";
import type { EventNote } from "../../kube/events/event-recorder.ts";
import { keyText } from "../../kube/resource.ts";
import { type Instant, MINUTE, SECOND } from "../../util/time.ts";
import type { ConnectionAccess } from "../frame/context.ts";
import { failureReadiness } from "../frame/rules/failure.ts";
import { lookUpAccount } from "../look-up-account.ts";
import { type Account, fromConsole, leftBehind } from "./account.ts";
import { type Known, observeListing } from "./observe.ts";
import {
  ambiguous,
  expectedAccount,
  lookFor,
  named,
  type Situation,
  unlisted,
  wantedOf,
} from "./plan.ts";
import { mayHaveLostAccount, type Recall } from "./recall.ts";
import { recover } from "./recovery.ts";

/** Deletion ends even with the console down (L6): after this long without success it says what is left. */
export const GIVE_UP_AFTER_MS = 10 * MINUTE;
const RETRY_MS = 30 * SECOND;
const HELD_RECHECK_MS = 5 * MINUTE;

export type DeletionStep =
  /** Nothing of ours is on the object. */
  | { readonly kind: "Done" }
  | { readonly kind: "Hold"; readonly finding: Readiness; readonly requeueAfterMs: number }
  /** Cleaning up did not succeed; given up on in the end. */
  | { readonly kind: "Failing"; readonly finding: Readiness; readonly requeueAfterMs?: number }
  | { readonly kind: "Release"; readonly note?: EventNote };

/** A failing step has become a hold or the end of it. */
export type FinalStep = Exclude<DeletionStep, { readonly kind: "Failing" }>;

export type DeletionPolicy = "Revoke" | "Retain" | "Delete";

/** What can be decided without the console; `undefined` where there is something to clean up there. */
export function judgeDeletion(known: Known, recall: Recall): DeletionStep | undefined {
  if (!known.held) return { kind: "Done" };
  if (known.users.length > 0) return holdFor(inUse(known.users));
  if (mayHaveLostAccount(known)) return judgeWithoutAccount(known, recall);
  if (isSuspended(known)) return holdFor(SUSPENDED);
  if (known.account !== undefined && policyOf(known) === "Retain") {
    return release(
      "Normal",
      "Retained",
      `Left service account ${leftBehind(known.account)} as it is.`,
    );
  }
  return undefined;
}

/** The status names no account, and the console is not known to have one either. */
function judgeWithoutAccount(known: Known, recall: Recall): DeletionStep {
  switch (recall.kind) {
    case "Unclear":
      return release(
        "Warning",
        "LeftBehind",
        `The status does not name the account, and the console does not say whose ${named(recall.saIds)} is, which has the same name: it stays as it is, with its policies. Unbind them at the console if it was made for this object.`,
      );
    case "Unanswered":
      if (policyOf(known) === "Retain") return { kind: "Release" };
      return isSuspended(known) ? holdFor(SUSPENDED) : { kind: "Failing", finding: recall.finding };
    default:
      return { kind: "Release" };
  }
}

function isSuspended({ wish }: Known): boolean {
  return wish.ok && wish.spec.suspend;
}

export function policyOf(known: Known): DeletionPolicy {
  const { wish } = known;
  const asked = wish.ok ? wish.spec.deletionPolicy : undefined;
  return asked ?? (isImported(known) ? "Retain" : "Revoke");
}

function isImported({ wish, account }: Known): boolean {
  return account === undefined
    ? wish.ok && wish.spec.saId !== undefined
    : account.origin === "Imported";
}

/** Whether the console can be asked at all, from what is known without it. */
export function canCleanUp(
  known: Known,
):
  | { readonly ok: true; readonly situation: Situation }
  | { readonly ok: false; readonly finding: Readiness } {
  const { wish, lookup } = known;
  if (!wish.ok) {
    return {
      ok: false,
      finding: { state: "Stalled", reason: "InvalidSpec", message: wish.message },
    };
  }
  if (!lookup.ok) {
    const { reason, message } = lookup;
    return { ok: false, finding: { state: "Reconciling", reason, message } };
  }
  if (isImported(known) && !lookup.access.grant.importServiceAccounts) {
    const message =
      "The connection no longer lets this namespace manage imported service accounts.";
    return { ok: false, finding: { state: "Stalled", reason: "NotGranted", message } };
  }
  return { ok: true, situation: { known, spec: wish.spec, access: lookup.access } };
}

/** After a failed try: on hold until the time is over, then let go with a warning. */
export function orGiveUp(
  step: Extract<DeletionStep, { kind: "Failing" }>,
  known: Known,
  failingSince: Instant,
  now: Instant,
): FinalStep {
  const leftMs = failingSince + GIVE_UP_AFTER_MS - now;
  if (leftMs <= 0) {
    const what = leftover(known);
    const why = step.finding.message.slice(0, 400);
    return release(
      "Warning",
      "LeftBehind",
      `Gave up cleaning up at the console and left ${what}. Last reason: ${why}`,
    );
  }
  const { requeueAfterMs = RETRY_MS, finding } = step;
  return { kind: "Hold", finding, requeueAfterMs: Math.min(requeueAfterMs, leftMs) };
}

function leftover({ account, attempt, key }: Known): string {
  if (account !== undefined) return `service account ${leftBehind(account)}, with its policies`;
  return attempt === undefined
    ? `whatever account ServiceAccount ${keyText(key)} had: its status does not name one`
    : `an account that attempt ${attempt.id} of ${keyText(key)} may have created`;
}

/** Cleans up at the console as the deletion policy says. Every step can be done again after a crash. */
export async function cleanUp(
  situation: Situation,
  isLost: (saId: string) => Promise<boolean>,
  now: Instant,
  signal: AbortSignal,
): Promise<DeletionStep> {
  try {
    const account = situation.known.account ?? (await recoverAccount(situation, now, signal));
    if ("kind" in account) return account;
    if (await isLost(account.saId)) {
      return release(
        "Normal",
        "Released",
        `Service account ${account.saId} is managed by another object and stays as it is.`,
      );
    }
    return await carryOut(policyOf(situation.known), account, situation, signal);
  } catch (error) {
    if (!isIamError(error)) throw error;
    const finding = failureReadiness(error);
    if (finding === undefined) throw error;
    return { kind: "Failing", finding };
  }
}

/** An attempt may have created an account that nobody has seen yet. */
async function recoverAccount(
  situation: Situation,
  now: Instant,
  signal: AbortSignal,
): Promise<Account | DeletionStep> {
  const look = lookFor(situation, now);
  const known = expectedAccount(situation, "Created");
  if (look.kind === "Remember") return fromConsole(look.account, known);
  if (look.kind === "Wait") {
    const message = "Deletion waits until it is known whether the account was created.";
    return {
      kind: "Hold",
      finding: { state: "Reconciling", reason: "CreateOutcomeUnknown", message },
      requeueAfterMs: look.ms,
    };
  }
  const listing = await observeListing(situation.access, signal);
  if (!listing.ok) return { kind: "Failing", finding: unlisted(listing.code) };
  const attempt = situation.known.attempt?.id ?? "";
  const found = recover(listing.accounts, wantedOf(situation), attempt, () => false);
  switch (found.kind) {
    case "Found":
      return fromConsole(found.account, known);
    case "Nothing":
      return { kind: "Release" };
    case "Ambiguous":
      return { kind: "Failing", finding: ambiguous(found.saIds) };
  }
}

async function carryOut(
  policy: DeletionPolicy,
  known: Account,
  { access, known: { namespaceTerminating } }: Situation,
  signal: AbortSignal,
): Promise<DeletionStep> {
  if (policy === "Retain") {
    return release("Normal", "Retained", `Left service account ${leftBehind(known)} as it is.`);
  }
  if (policy === "Delete" && access.client.extra.deleteServiceAccount === undefined) {
    // Somebody asked for more than can be done; only the end of the namespace overrides that.
    return namespaceTerminating
      ? { kind: "Failing", finding: deleteIsNotPossible(known.saId) }
      : holdFor(deleteIsNotPossible(known.saId));
  }
  const detail = await lookUpAccount(access.client, known.saId, signal);
  if (detail === undefined) {
    return release(
      "Normal",
      "Released",
      `The console no longer knows service account ${known.saId}.`,
    );
  }
  const account = fromConsole(detail, known);
  return policy === "Delete"
    ? deleteAccount(account, access, signal)
    : revoke(account, access, signal);
}

async function deleteAccount(
  account: Account,
  { client }: ConnectionAccess,
  signal: AbortSignal,
): Promise<DeletionStep> {
  await unlessGone(
    client.extra.deleteServiceAccount?.(account.saId, signal),
    client,
    account.saId,
    signal,
  );
  return release("Normal", "Deleted", `Deleted service account ${leftBehind(account)}.`);
}

async function revoke(
  account: Account,
  { client }: ConnectionAccess,
  signal: AbortSignal,
): Promise<DeletionStep> {
  const { tpn, orgId } = account;
  if (tpn === undefined) {
    return {
      kind: "Failing",
      finding: {
        state: "Reconciling",
        reason: "TpnUnknown",
        message: `The console's answer does not name the tpn of service account ${account.saId}, so its policies cannot be unbound.`,
      },
    };
  }
  await unlessNothingIsBound(
    client.syncBindings({ tpn, orgId, policyIds: [] }, signal),
    client,
    tpn,
    signal,
  );
  return release(
    "Normal",
    "Revoked",
    `Unbound every policy of service account ${leftBehind(account)}; the account itself stays at the console.`,
  );
}

/** A 404 to this call may be a gateway's: it counts once the console says that nothing is bound, or says it again. */
async function unlessNothingIsBound(
  unbound: Promise<void>,
  client: IamClient,
  tpn: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await unbound;
  } catch (error) {
    if (!isIamError(error, "NotFound") || (await hasBindings(client, tpn, signal))) throw error;
  }
}

async function hasBindings(client: IamClient, tpn: string, signal: AbortSignal): Promise<boolean> {
  try {
    const live = await client.listBindings(tpn, signal);
    return live.readable && live.policyIds.length > 0;
  } catch (error) {
    if (isIamError(error, "NotFound")) return false;
    throw error;
  }
}

/** An account that was deleted before answers 404, and so does a path that the connection names wrongly. */
async function unlessGone(
  deleted: Promise<void> | undefined,
  client: IamClient,
  saId: string,
  signal: AbortSignal,
): Promise<void> {
  try {
    await deleted;
  } catch (error) {
    if (!isIamError(error, "NotFound")) throw error;
    if ((await lookUpAccount(client, saId, signal)) !== undefined) throw error;
  }
}

const SUSPENDED: Readiness = {
  state: "Reconciling",
  reason: "Suspended",
  message: "Deletion waits: nothing is written while spec.suspend is true.",
};

function deleteIsNotPossible(saId: string): Readiness {
  return {
    state: "Stalled",
    reason: "DeleteNotPossible",
    message: `The console documents no call that deletes service account ${saId}. Set spec.extraCalls.deleteServiceAccount of the connection, or spec.deletionPolicy to Revoke or Retain.`,
  };
}

function inUse(users: readonly string[]): Readiness {
  const more = users.length > 5 ? ` and ${users.length - 5} more` : "";
  return {
    state: "Reconciling",
    reason: "InUse",
    message: `Deletion waits for what still uses it: ${users.slice(0, 5).join(", ")}${more}. Delete these first.`,
  };
}

function holdFor(finding: Readiness): FinalStep {
  return { kind: "Hold", finding, requeueAfterMs: HELD_RECHECK_MS };
}

function release(type: EventNote["type"], reason: string, note: string): FinalStep {
  return { kind: "Release", note: { type, reason, action: "Delete", note: note.slice(0, 1_000) } };
}
