/** What consumers have, and what they should have. Pure. */
import { Redacted } from "../../util/redacted.ts";
import type { Instant } from "../../util/time.ts";
import type { Secret } from "../resource-types.ts";
import { isConverged } from "./consumers.ts";
import type { Observed } from "./observed.ts";
import type { IssuedPair } from "./pair.ts";
import { overlapEnd } from "./schedule.ts";
import { isAsWanted, type OwnSecret, targetSecret } from "./secret.ts";
import { usesVariable } from "./template.ts";

type Previous = OwnSecret["previous"];

/** The pair a Secret of ours holds intact. */
export function pairIn(view: Observed["target"]): IssuedPair | undefined {
  return view.kind === "Ours" ? view.pair : undefined;
}

/** Whether the key named in the status is the one in the Secret. */
export function isDelivered({ state, target }: Observed): boolean {
  return state.current !== undefined && pairIn(target)?.keyId === state.current.keyId;
}

/** The Secret with the pair that is delivered, as it is declared now. */
export interface Rendering {
  readonly pair: IssuedPair;
  readonly previous: Previous;
  readonly wanted: Secret;
  /** Whether the stored Secret is like that. */
  readonly isInPlace: boolean;
}

/** `undefined` where nothing is delivered, or its rendering is not known now. */
export function renderingOf(seen: Observed, now: Instant): Rendering | undefined {
  const { self, spec, account, target } = seen;
  if (account.kind !== "Ready" || target.kind !== "Ours" || !isDelivered(seen)) return undefined;
  const pair = asRecorded(seen);
  if (pair === undefined) return undefined;
  const previous = previousInUse(seen, now);
  const wanted = targetSecret(self, spec, account.values, pair, previous);
  return { pair, previous, wanted, isInPlace: isAsWanted(target, wanted, self) };
}

/** The pair in the Secret. Its times are those of the status: annotations can be edited (S16). */
function asRecorded({ state: { current }, target }: Observed): IssuedPair | undefined {
  const pair = pairIn(target);
  if (pair === undefined || current === undefined) return undefined;
  const { issueTime, expirationTime, revision } = current;
  return { ...pair, issueTime, expirationTime, revision };
}

/** The previous pair, as long as the overlap lasts and the Secret still shows it. */
function previousInUse(seen: Observed, now: Instant): Previous {
  const { spec, state, target } = seen;
  const converged = isConverged(seen);
  const inOverlap = state.superseded.filter(
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
