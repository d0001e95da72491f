/** What consumers have, and what they should have. Pure. */
import { Redacted } from "../../../util/redacted.ts";
import type { Instant } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { type SecretContents, targetSecret } from "../secret/render.ts";
import { usesVariable } from "../secret/template.ts";
import { isAsWanted, pairIn } from "../secret/view.ts";
import { isConverged } from "./consumers.ts";
import { overlapEnd } from "./schedule.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

/** Whether the key named in the status is the one in the Secret. */
export function isDelivered({ status, target }: ApiKeySnapshot): boolean {
  return status.current !== undefined && pairIn(target)?.keyId === status.current.keyId;
}

/** The Secret with the pair that is delivered, as it is declared now. */
export interface Rendering extends SecretContents {
  /** Whether the stored Secret is like that. */
  readonly isInPlace: boolean;
}

/** `undefined` where nothing is delivered, or its rendering is not known now. */
export function renderingOf(snapshot: ApiKeySnapshot, now: Instant): Rendering | undefined {
  const { self, spec, account, target } = snapshot;
  if (account.kind !== "Ready" || target.kind !== "Ours" || !isDelivered(snapshot))
    return undefined;
  const pair = asRecorded(snapshot);
  if (pair === undefined) return undefined;
  const previous = previousInUse(snapshot, now);
  const wanted = targetSecret(self, spec, account.values, { pair, previous });
  return { pair, previous, isInPlace: isAsWanted(target, wanted, self) };
}

/** The pair in the Secret. Its times are those of the status: annotations can be edited (S16). */
function asRecorded({ status: { current }, target }: ApiKeySnapshot): IssuedPair | undefined {
  const pair = pairIn(target);
  if (pair === undefined || current === undefined) return undefined;
  const { issueTime, expirationTime, revision } = current;
  return { ...pair, issueTime, expirationTime, revision };
}

/** The previous pair, as long as the overlap lasts and the Secret still shows it. */
function previousInUse(snapshot: ApiKeySnapshot, now: Instant): SecretContents["previous"] {
  const { spec, status, target } = snapshot;
  const converged = isConverged(snapshot);
  const inOverlap = status.superseded.filter(
    (key) => now < overlapEnd(key, spec.rotation, converged),
  );
  const shown = target.kind === "Ours" ? target.previous : undefined;
  if (shown !== undefined)
    return inOverlap.some(({ keyId }) => keyId === shown.keyId) ? shown : undefined;
  // Where no entry shows the previous secret, its id is still known.
  const templates = Object.values(spec.secret.data);
  const latest = inOverlap.toSorted((a, b) => b.supersededTime - a.supersededTime)[0];
  return latest === undefined || templates.some((text) => usesVariable(text, "previousSecret"))
    ? undefined
    : { keyId: latest.keyId, secret: new Redacted("") };
}
