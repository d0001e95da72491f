/** A target Secret that the API server stores otherwise than it is written. Pure. */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { stalled } from "../../../reconciler/rules/waiting.ts";
import { certainTime } from "../../../util/agreed-time.ts";
import { secretNameOf } from "../secret/owner.ts";
import { secretIsImmutable } from "./blocks.ts";
import { contentId, type Rendering, renderingOf } from "./rendering.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";
import { isCheckRequested } from "./verification.ts";

/** The reason of a write that the API server answers with other content. */
export const SECRET_NOT_KEPT = "SecretNotKept";

/** Whether the API server has answered this very write with other content, and a person has not asked to repeat it. */
export function isNotKept(
  snapshot: ApiKeySnapshot,
  { wanted }: Pick<Rendering, "wanted">,
): boolean {
  const { notKept, target, hasWritten } = snapshot;
  if (notKept === undefined || target.kind !== "Ours") return false;
  if (notKept.resourceVersion !== target.resourceVersion) return false;
  if (notKept.sent !== contentId(wanted)) return false;
  return hasWritten === true || !isCheckRequested(snapshot);
}

/** Reported once everything else is done. */
export function reportNotKept(snapshot: ApiKeySnapshot, at: ClockReading): Waiting | undefined {
  const { self, spec, notKept } = snapshot;
  const rendering = renderingOf(snapshot, certainTime(at));
  if (rendering === undefined || rendering.isInPlace) return undefined;
  const immutable = secretIsImmutable(snapshot);
  if (immutable !== undefined)
    return stalled(
      immutable.reason,
      `The Secret is not as spec.secret declares it. ${immutable.message}`,
    );
  return notKept !== undefined && isNotKept(snapshot, rendering)
    ? stalled(SECRET_NOT_KEPT, describeNotKept(secretNameOf(self.name, spec), notKept.what))
    : undefined;
}

export function describeNotKept(name: string, what: string): string {
  return `The API server stores Secret ${name} with a different ${what} than the operator writes: probably an admission policy or webhook of the cluster changes it. Exempt the Secret from the policy and run kubectl iam reconcile; if the policy changes only labels or annotations of spec.secret, you can declare its values there instead. The operator writes the Secret again on request, or after a change of it or of spec.secret.`;
}
