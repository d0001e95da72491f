/** What an ApiKey's status says after a pass. Pure. */

import type { ApiKeyStatus } from "../../api/api-key.ts";
import {
  type Condition,
  findCondition,
  type Readiness,
  readinessConditions,
  removeCondition,
  setCondition,
} from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import { DAY, type Instant, toIso8601 } from "../../util/time.ts";
import { requestToken } from "../frame/request-token.ts";
import { type ConsumerConditions, consumerConditions, countOf, isConverged } from "./consumers.ts";
import { contentOf } from "./content.ts";
import { isDelivered } from "./delivered.ts";
import type { Moment } from "./moment.ts";
import { fromState, type Observed, type State } from "./observed.ts";
import type { Rest } from "./plan.ts";
import { type Lifetime, overlapEnd, renewalTime, safetyLimit } from "./schedule.ts";
import { secretNameOf } from "./secret.ts";

/** How a pass ended: at rest, or with a failure that is already put into words. */
export type Ending = Rest | { readonly kind: "Failed"; readonly readiness: Readiness };

/** The whole status. */
export function statusOf(seen: Observed, ending: Ending, at: Moment): ApiKeyStatus {
  const { object, self, spec } = seen;
  const state = tidied(seen.state, at.now);
  const token = requestToken(object.metadata, annotations.reconcileRequestedAt);
  const handled = token ?? object.status?.lastHandledReconcileAt;
  const content = contentOf(seen, at.now);
  const consumers = countOf(seen, content);
  return {
    observedGeneration: object.metadata.generation ?? 0,
    ...(handled === undefined ? {} : { lastHandledReconcileAt: handled }),
    ...fromState(state),
    secretName: secretNameOf(self.name, spec),
    ...(content === undefined ? {} : { content }),
    ...(consumers === undefined ? {} : { consumers }),
    orphanCount: state.orphaned.length,
    ...(state.current === undefined
      ? {}
      : { renewalTime: toIso8601(renewalTime(state.current, spec.rotation, self.uid, at.now)) }),
    conditions: [...conditionsOf(seen, ending, consumerConditions(seen, content), at)],
  };
}

/** Whether consumers have a pair that works, and what stands in the way of anything else. */
export function readinessOf(seen: Observed, ending: Ending, { now }: Moment): Readiness {
  const trouble = troubleOf(seen, ending);
  const { current } = seen.state;
  if (current === undefined || !isUsable(seen, now))
    return (
      trouble ?? {
        state: "Reconciling",
        reason: "Pending",
        message: "The key is not in its Secret yet.",
      }
    );
  const held = `Key ${current.keyId} is in Secret ${secretNameOf(seen.self.name, seen.spec)} and valid until ${toIso8601(current.expirationTime)}.`;
  if (now >= safetyLimit(current) && now >= renewalOf(current, seen, now))
    return {
      state: "Ready",
      reason: "ExpiringSoon",
      message: `${held} It has not been renewed. ${trouble?.message ?? ""}`.trim(),
    };
  return trouble === undefined
    ? { state: "Ready", reason: "KeyDelivered", message: held }
    : { state: "Ready", reason: trouble.reason, message: `${held} ${trouble.message}` };
}

function renewalOf(current: Lifetime, { spec, self }: Observed, now: Instant): Instant {
  return renewalTime(current, spec.rotation, self.uid, now);
}

/** Whether the Secret holds the current pair, the console has accepted it, and it has not expired. */
export function isUsable(seen: Observed, now: Instant): boolean {
  const { current } = seen.state;
  return (
    current?.verificationTime !== undefined &&
    now < current.expirationTime &&
    isDelivered(seen) &&
    seen.rejection?.keyId !== current.keyId
  );
}

/** Milliseconds to the next moment at which something is due, whatever happens. */
export function nextLookMs(seen: Observed, now: Instant): number {
  const { self, spec, state } = seen;
  const { current } = state;
  const converged = isConverged(seen);
  const moments = [
    ...(current === undefined
      ? []
      : [
          renewalTime(current, spec.rotation, self.uid, now),
          safetyLimit(current),
          current.expirationTime,
        ]),
    ...state.superseded.flatMap((key) => [
      overlapEnd(key, spec.rotation, converged),
      key.expirationTime,
    ]),
    ...state.orphaned.map((key) => key.expirationTime),
  ].filter((moment) => moment > now);
  return Math.min(...moments.map((moment) => moment - now), DAY);
}

/** Keys whose life is over leave the lists: orphans at once, superseded ones a day later. */
function tidied(state: State, now: Instant): State {
  return {
    ...state,
    superseded: state.superseded
      .filter((key) => now < key.expirationTime + DAY)
      .map((key) =>
        now >= key.expirationTime && key.state !== "Deleted" ? { ...key, state: "Expired" } : key,
      ),
    orphaned: state.orphaned.filter((key) => now < key.expirationTime),
  };
}

function troubleOf({ self, spec }: Observed, ending: Ending): Readiness | undefined {
  if (ending.kind === "Failed") return ending.readiness;
  if (self.deletingSince !== undefined)
    return {
      state: "Reconciling",
      reason: ending.waiting?.reason ?? "Deleting",
      message: ending.waiting?.message ?? "The ApiKey is being deleted.",
    };
  if (spec.suspend)
    return {
      state: "Stalled",
      reason: "Suspended",
      message: "spec.suspend is true: nothing is issued or written for this ApiKey.",
    };
  if (ending.block !== undefined) {
    const { state, reason, message } = ending.block;
    return { state, reason, message };
  }
  return ending.waiting && { state: "Reconciling", ...ending.waiting };
}

function conditionsOf(
  seen: Observed,
  ending: Ending,
  aboutConsumers: ConsumerConditions,
  at: Moment,
): readonly Condition[] {
  const generation = seen.object.metadata.generation ?? 0;
  const old = seen.object.status?.conditions ?? [];
  const ready = readinessConditions(old, readinessOf(seen, ending, at), generation, at.now);
  const others = Object.entries(aboutConsumers).reduce(
    (list, [type, update]) =>
      update === undefined
        ? removeCondition(list, type)
        : setCondition(list, update, generation, at.now),
    ready,
  );
  return [verified(seen, ending), issuanceAllowed(ending)].reduce(
    (list, update) =>
      update === undefined ? list : setCondition(list, update, generation, at.now),
    others,
  );
}

type Update = Parameters<typeof setCondition>[1];

function verified({ state, rejection }: Observed, ending: Ending): Update | undefined {
  const { current } = state;
  if (ending.kind === "Rest" && ending.waiting?.reason === "VerificationFailed")
    return { type: "Verified", status: "False", ...ending.waiting };
  if (current === undefined) return undefined;
  if (rejection?.keyId === current.keyId)
    return {
      type: "Verified",
      status: "False",
      reason: "KeyRefused",
      message: `The console does not accept key ${current.keyId}.`,
    };
  return current.verificationTime === undefined
    ? undefined
    : {
        type: "Verified",
        status: "True",
        reason: "KeyAccepted",
        message: `The console accepted key ${current.keyId}.`,
      };
}

function issuanceAllowed(ending: Ending): Update | undefined {
  if (ending.kind === "Failed") return undefined;
  const { block } = ending;
  return block === undefined
    ? {
        type: "IssuanceAllowed",
        status: "True",
        reason: "NothingForbids",
        message: "A key may be issued when one is due.",
      }
    : { type: "IssuanceAllowed", status: "False", reason: block.reason, message: block.message };
}

/** A sentence for a person about a condition that has just turned bad; `undefined` where none has. */
export function newTrouble(
  before: readonly Condition[] | undefined,
  after: readonly Condition[] | undefined,
): { readonly reason: string; readonly message: string } | undefined {
  const turned = (type: string, bad: "True" | "False") => {
    const now = findCondition(after, type);
    const then = findCondition(before, type);
    const isNew = now?.status === bad && (then?.status !== bad || then.reason !== now.reason);
    return isNew ? now : undefined;
  };
  const ready = findCondition(after, "Ready");
  if (ready?.reason === "ExpiringSoon" && findCondition(before, "Ready")?.reason !== "ExpiringSoon")
    return ready;
  return turned("Stalled", "True") ?? turned("Verified", "False");
}
