/** What the answer of issueKey means for the pair: when it expires, and what the ApiKey's events say about it. Pure. */
import { type NewKeyPair, SECRET_LENGTH } from "../../../console/model.ts";
import { DAY, HOUR, type Instant, inDays, MINUTE, toIso8601 } from "../../../util/time.ts";
import { expiryOf } from "../rules/schedule.ts";
import type { HeldPair } from "../rules/snapshot.ts";
import { type IssueAttempt, type KeyStatus, listedKeyIds } from "../rules/status.ts";
import type { KeyAccount } from "../secret/pair.ts";

/** Differences of clocks, and the duration of the call. */
const TOLERANCE_MS = 5 * MINUTE;
/** A time of expiry that is closer contradicts the answer that issues the key. */
const SHORTEST_MS = HOUR;

interface IssueTimes {
  /** Just before the call. */
  readonly issueTime: Instant;
  readonly expiresInDays: number;
  /** The time by the console's clock when it answered, if known. */
  readonly consoleTime: Instant | undefined;
}

/** The new pair. A shorter lifetime in the answer counts; a longer lifetime does not. */
export function heldPair(
  { id, revision, serviceAccount, saId }: Pick<IssueAttempt, "id" | "revision"> & KeyAccount,
  { keyId, secret, lifetime = {} }: NewKeyPair,
  { issueTime, expiresInDays, consoleTime }: IssueTimes,
): HeldPair {
  const { lifetimeMs, expiresAt } = lifetime;
  const leftMs =
    expiresAt === undefined || consoleTime === undefined ? undefined : expiresAt - consoleTime;
  const wantedMs = expiryOf(issueTime, expiresInDays) - issueTime;
  const shorter = [lifetimeMs, leftMs].filter(
    (ms) => ms !== undefined && ms >= SHORTEST_MS && ms < wantedMs - TOLERANCE_MS,
  );
  const expirationTime = issueTime + Math.min(wantedMs, ...shorter.map((ms) => ms ?? wantedMs));
  return {
    attemptId: id,
    pair: { keyId, secret, issueTime, expirationTime, revision, serviceAccount, saId },
  };
}

interface Note {
  readonly reason: "UnexpectedKeyForm" | "LifetimeShortened" | "KeyReissued";
  readonly note: string;
}

/** The unusual properties of a new pair. The operator uses the pair anyway: it cannot be retrieved again. */
export function notesOn(
  { keyId, secret, issueTime, expirationTime }: HeldPair["pair"],
  expiresInDays: number,
  status: KeyStatus,
): readonly Note[] {
  const notes: Note[] = [];
  if (!keyId.startsWith("sak_") || secret.reveal().length !== SECRET_LENGTH)
    notes.push({
      reason: "UnexpectedKeyForm",
      note: `Key ${keyId} does not have the documented form (prefix sak_, ${SECRET_LENGTH} characters of secret); the operator uses it anyway.`,
    });
  if (expirationTime < expiryOf(issueTime, expiresInDays))
    notes.push({
      reason: "LifetimeShortened",
      note: `The console's answer shows that key ${keyId} expires at ${toIso8601(expirationTime)}, after ${inDays(daysOf(expirationTime - issueTime))} instead of ${expiresInDays}. The key is renewed accordingly.`,
    });
  if (listedKeyIds(status).includes(keyId))
    notes.push({
      reason: "KeyReissued",
      note: `The console issued key ${keyId}, which this ApiKey already has, with another secret. The new pair is tried and delivered; the earlier secret probably no longer works.`,
    });
  return notes;
}

function daysOf(ms: number): number {
  return Math.round((ms / DAY) * 10) / 10;
}
