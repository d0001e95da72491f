/** Actual and desired content of the consumers' Secret. Pure. */
import { hash as digest } from "node:crypto";
import type { Secret } from "../../../resources/resource-types.ts";
import { Redacted } from "../../../util/redacted.ts";
import type { Instant } from "../../../util/time.ts";
import { differences, differingEntries } from "../secret/differences.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { type SecretContents, targetSecret } from "../secret/render.ts";
import { usesVariable } from "../secret/template.ts";
import { pairIn, type SecretView } from "../secret/view.ts";
import { accountInUse } from "./accounts.ts";
import { isConverged } from "./consumers.ts";
import { type Overlap, overlapEnd, unlistedOverlap } from "./schedule.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/** Whether the Secret holds the key that the status names. */
export function isDelivered({ status, target }: ApiKeySnapshot): boolean {
  const keyId = target.kind === "Unread" ? target.keyId : pairIn(target)?.keyId;
  return keyId !== undefined && keyId === status.current?.keyId;
}

/** The declared content of the Secret, with the delivered pair. */
export interface Rendering extends SecretContents {
  /** Whether the stored Secret matches. */
  readonly isInPlace: boolean;
  /** Names of its entries that do not: what consumers read. */
  readonly differingEntries: readonly string[];
  /** The Secret as it is to be. */
  readonly wanted: Secret;
}

/** `undefined` if no pair is delivered, or if the declared content is unknown now. */
export function renderingOf(snapshot: ApiKeySnapshot, now: Instant): Rendering | undefined {
  const { self, spec, target } = snapshot;
  const account = accountInUse(snapshot);
  if (account.kind !== "Ready" || target.kind !== "Ours" || !isDelivered(snapshot))
    return undefined;
  const pair = asRecorded(snapshot);
  if (pair === undefined) return undefined;
  const previous = previousInUse(snapshot, now);
  const wanted = targetSecret(self, spec, account.values, { pair, previous });
  const isInPlace = differences(target.secret, wanted, self).length === 0;
  const names = differingEntries(target.secret, wanted);
  return { pair, previous, isInPlace, differingEntries: names, wanted };
}

/** Identifies a Secret as it is to be written. */
export function contentId(wanted: Secret): string {
  return digest("sha256", JSON.stringify(wanted)).slice(0, 16);
}

function shownPrevious(target: SecretView): SecretContents["previous"] {
  if (target.kind === "Ours") return target.previous;
  if (target.kind !== "Unread" || target.previousKeyId === undefined) return undefined;
  return { keyId: target.previousKeyId, secret: new Redacted("") };
}

/** The pair in the Secret, with the times of the status: annotations can be edited (S16). */
function asRecorded({ status: { current }, target }: ApiKeySnapshot): IssuedPair | undefined {
  const pair = pairIn(target);
  if (pair === undefined || current === undefined) return undefined;
  const { issueTime, expirationTime, revision, serviceAccount, saId } = current;
  return { ...pair, issueTime, expirationTime, revision, serviceAccount, saId };
}

/**
 * Identifies what the operator declares for the Secret: names, labels, annotations, owner and entries. Computed without
 * a secret. `undefined` if the declaration is unknown now.
 */
export function declarationHash(snapshot: ApiKeySnapshot, now: Instant): string | undefined {
  const { self, spec, status } = snapshot;
  const account = accountInUse(snapshot);
  if (account.kind !== "Ready" || status.current === undefined) return undefined;
  const pair = { ...status.current, secret: new Redacted("") };
  const previous = previousInUse(snapshot, now);
  const open = previous && { keyId: previous.keyId, secret: new Redacted("") };
  const wanted = targetSecret(self, spec, account.values, { pair, previous: open });
  return digest("sha256", JSON.stringify(wanted)).slice(0, 16);
}

/** Whether an unchanged Secret still matches the declaration. */
export function isStillDeclared(snapshot: ApiKeySnapshot, now: Instant): boolean {
  const declared = declarationHash(snapshot, now);
  return declared === undefined || declared === snapshot.object.status?.content?.declarationHash;
}

/** The previous pair, while the overlap lasts and the Secret still contains the pair. */
function previousInUse(snapshot: ApiKeySnapshot, now: Instant): SecretContents["previous"] {
  const { spec, status, target } = snapshot;
  const converged = isConverged(snapshot);
  const isOpen = (key: Overlap) => now < overlapEnd(key, spec.rotation, converged);
  const inOverlap = status.superseded.filter(isOpen);
  const shown = shownPrevious(target);
  if (shown !== undefined) {
    const listed = status.superseded.find(({ keyId }) => keyId === shown.keyId);
    const overlap = listed ?? (status.current && unlistedOverlap(status.current));
    return overlap !== undefined && isOpen(overlap) ? shown : undefined;
  }
  const latest = inOverlap.toSorted((a, b) => b.supersededTime - a.supersededTime)[0];
  return latest && previousById(latest.keyId, snapshot);
}

/** Even if the previous secret is lost, its key ID is known; an entry that contains the secret needs both. */
export function previousById(keyId: string, { spec }: ApiKeySnapshot): SecretContents["previous"] {
  const templates = Object.values(spec.secret.data);
  return templates.some((text) => usesVariable(text, "previousSecret"))
    ? undefined
    : { keyId, secret: new Redacted("") };
}
