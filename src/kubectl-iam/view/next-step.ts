/** The one thing to do next about an object. Pure. */

import type { ApiKey } from "../../api/api-key.ts";
import { type Condition, findCondition, isTrue } from "../../api/conditions.ts";
import { isConnectionKind } from "../../api/fields.ts";
import { OUTSIDE_WINDOWS } from "../../api/issuance.ts";
import { annotations } from "../../api/meta.ts";
import { isPlanOnly } from "../../api/plan-only.ts";
import { withoutMarkup } from "../../api/reasons/reason.ts";
import { findReason } from "../../api/reasons/sections.ts";
import { isRevoking } from "../../api/revoking.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { ended } from "../../util/ended.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import type { Instant } from "../../util/time.ts";
import { forecastOf, NO_FORECAST } from "../cluster/forecast.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { commandAbout, type Named, nameOf } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { chainOf, usersOf } from "../cluster/relations.ts";
import { movingKeyText, pendingRotation, progressOf } from "../cluster/rotation.ts";
import { unobserved } from "../cluster/wait.ts";
import {
  causeElsewhere,
  isSettled,
  reportsSuspension,
  whyDelayed,
} from "../cluster/why-delayed.ts";
import { adviceIn } from "./advice.ts";
import { accountOf, connectionOf, withNames } from "./named-commands.ts";
import { adviceOnOrphanedAccounts } from "./orphaned-accounts.ts";
import { readinessOf } from "./readiness.ts";
import { adviceOnReplaced } from "./replaced.ts";
import { relative } from "./time.ts";

interface NextStep {
  /** Whether manual action is required. */
  readonly isNeeded: boolean;
  readonly text: string;
}

/** `secretIsMissing`: whether a read has shown that the Secret of the ApiKey does not exist. */
export function nextStep(
  object: AnyObject,
  world: World,
  now: Instant,
  secretIsMissing = false,
): NextStep {
  const step = stepOf(object, world, now, secretIsMissing);
  const isHeld = isPlanOnly(object) && !isReader(object);
  return !isHeld || !step.isNeeded || step.text.includes(annotations.planOnly)
    ? step
    : needed(
        `${step.text} Nothing is done for it before you remove the annotation ${annotations.planOnly}.`,
      );
}

/** Whether the operator changes nothing for the kind, so that plan-only holds nothing back. */
function isReader({ kind }: Named): boolean {
  return isConnectionKind(kind) || kind === "ResourceQuotaExport";
}

function stepOf(object: AnyObject, world: World, now: Instant, secretIsMissing: boolean): NextStep {
  const { ready, reason, message, isStalled } = readinessOf(object);
  if (isBeingDeleted(object) && reason === "InUse") return needed(adviceIn(message) ?? message);
  if (isOutdated(object)) return { isNeeded: false, text: UNSEEN };
  if (reportsSuspension(object)) return needed(resume(object, world));
  if (isBeingDeleted(object) && !isStalled && reason !== "PlanOnly")
    return { isNeeded: false, text: "Wait: it is being deleted." };
  // The message advises to restore access.
  if (object.kind === "ServiceAccount" && isRevoking(reason))
    return needed(withNames(helpFor(object, reason, world), object, world));
  if (ready !== "True")
    return needed(adviceOnReplaced(object, world) ?? adviceOn({ reason, message }, object, world));
  if (reason === "AccessRevoked") return needed(adviceOnReplaced(object, world) ?? restore(object));
  const other = firstProblem(object);
  if (other !== undefined) return needed(adviceOn(other, object, world));
  if (secretIsMissing)
    return needed(
      `Wait: the operator notices a missing Secret at once if it can watch Secrets, otherwise within five minutes, or now with ${commandAbout("reconcile", object)}.`,
    );
  const key = object.kind === "ApiKey" ? (object as ApiKey) : undefined;
  if (!isSettled(reason) && (key === undefined || pendingRotation(key) === undefined))
    return needed(adviceOn({ reason, message }, object, world));
  if (key !== undefined) return nextOfKey(key, world, now);
  const elsewhere = adviceOnConnection(object, world);
  if (elsewhere !== undefined) return needed(elsewhere);
  const orphaned =
    object.kind === "ServiceAccount"
      ? adviceOnOrphanedAccounts(object as ServiceAccount)
      : undefined;
  return orphaned === undefined ? { isNeeded: false, text: "Nothing." } : needed(orphaned);
}

/** Whether the report is about an earlier spec: what it says can be over. */
function isOutdated(object: AnyObject): boolean {
  return (
    object.status?.observedGeneration !== undefined && unobserved(object, object) !== undefined
  );
}

const UNSEEN = "Wait: the operator has not reported on the last change of the spec yet.";

function needed(text: string): NextStep {
  return { isNeeded: true, text };
}

function namesOfUsers(object: AnyObject, world: World): string {
  const names = usersOf(object, world).map((user) => {
    const { namespace } = user.metadata;
    const isHere = namespace === object.metadata.namespace;
    return isHere ? nameOf(user) : `${nameOf(user)} in ${namespace}`;
  });
  return names.join(", ");
}

function restore(account: Named): string {
  return `Access is revoked: ${commandAbout("restore-access", account)} restores it. A leaked key then works again, so revoke it first.`;
}

function resume(object: AnyObject, world: World): string {
  if (isBeingDeleted(object)) {
    const users = namesOfUsers(object, world);
    const then = users === "" ? "" : ` Then it waits for what still uses the object: ${users}.`;
    return `Being deleted, and suspended: ${commandAbout("resume", object)} continues the deletion.${then}`;
  }
  const rotation = object.kind === "ApiKey" ? pendingRotation(object as ApiKey) : undefined;
  const then =
    rotation === undefined ? "" : ` The requested rotation${rotation.text} waits for that.`;
  return `Suspended: ${commandAbout("resume", object)} resumes it.${then}`;
}

/** A False condition other than Ready. The restart of Pods says more than that there are Pods to restart. */
function firstProblem({ status }: AnyObject): Condition | undefined {
  const quiet = ["Ready", "Reconciling", "Stalled"];
  const problems = status?.conditions?.filter(
    (condition) => condition.status === "False" && !quiet.includes(condition.type),
  );
  const isStale = problems?.[0]?.type === "ConsumersCurrent";
  return (isStale ? findCondition(problems, "RolledOut") : undefined) ?? problems?.[0];
}

function adviceOn(
  said: Pick<Condition, "reason" | "message">,
  object: AnyObject,
  world: World,
): string {
  return adviceElsewhere(said.reason, object, world) ?? adviceOnItself(said, object, world);
}

/** What to do about the object for which this one waits. */
function adviceElsewhere(reason: string, object: AnyObject, world: World): string | undefined {
  if (SUSPENSIONS.has(reason)) return undefined;
  const cause = causeElsewhere(chainOf(object, world), reason);
  if (cause === undefined) return undefined;
  const { object: other, report } = cause;
  if (report === undefined)
    return `Wait: ${nameOf(other)} is ready, and the operator continues by itself.`;
  const name = nameOf(other);
  if (reportsSuspension(other)) return `${name} is not ready. ${resume(other, world)}`;
  const advice = adviceOnItself(report, other, world).replaceAll(ITSELF, name);
  return `${name} reports ${report.reason}. ${advice}`;
}

/** An export that is Ready reports its connection at its next listing only. */
function adviceOnConnection(object: AnyObject, world: World): string | undefined {
  if (object.kind !== "ResourceQuotaExport") return undefined;
  const reason = "ConnectionNotReady";
  const isNotReady = causeElsewhere(chainOf(object, world), reason)?.report !== undefined;
  return isNotReady ? adviceElsewhere(reason, object, world) : undefined;
}

/** How the message of an object names the object. */
const ITSELF = /\bthis (object|ServiceAccount)\b/g;

function adviceOnItself(
  { reason, message }: Pick<Condition, "reason" | "message">,
  object: AnyObject,
  world: World,
): string {
  const help = adviceIn(message) ?? helpFor(object, reason, world);
  // Some help refers to the message, which a list of objects does not show.
  const text = /\bthe message\b/.test(help) ? `${ended(message)} ${help}`.trim() : help;
  const advice = withNames(text, object, world);
  if (reason !== "SecretConflict") return advice;
  // A conflict of a key that is not needed yet is known from dry runs.
  const noticed = readinessOf(object).reason === reason ? "six minutes" : "an hour";
  return `${advice} The operator notices a change of the Secret within ${noticed}, or now with ${commandAbout("reconcile", object)}.`;
}

/** The advice for these names the object to resume. */
const SUSPENSIONS: ReadonlySet<string> = new Set([
  "ConnectionSuspended",
  "ServiceAccountSuspended",
]);

function helpFor(object: AnyObject, reason: string, world: World): string {
  const suspended = reason === "ConnectionSuspended" ? connectionOf(object, world) : undefined;
  if (suspended !== undefined)
    return `The connection is suspended: nothing is issued, renewed or bound over it, and keys work until they expire. Its administrator can resume it: ${commandAbout("resume", suspended)}`;
  const account = accountOf(object);
  if (account !== undefined && reason === "AccessRevoked") return restore(account);
  if (account !== undefined && reason === "ServiceAccountSuspended")
    return `The ServiceAccount is suspended: ${commandAbout("resume", account)} resumes it.`;
  if (reason === "NotSeen") return "Check whether the operator runs: kubectl iam doctor.";
  const fix = findReason(reason)?.fix;
  if (fix !== undefined) return withoutMarkup(fix);
  const isWaiting = isTrue(object.status?.conditions, "Reconciling");
  const explained = `See kubectl iam explain ${reason}.`;
  return isWaiting ? `Wait: the operator continues by itself. ${explained}` : explained;
}

function nextOfKey(key: ApiKey, world: World, now: Instant): NextStep {
  const { metadata, status } = key;
  const { orphaned = [], renewalTime, current } = status ?? {};
  if (orphaned.length > 0)
    return needed(
      `Revoke the orphaned keys in the console: kubectl iam orphans -n ${metadata.namespace}.`,
    );
  const rotation = pendingRotation(key);
  if (rotation !== undefined) {
    const delay = whyDelayed(chainOf(key as AnyObject, world));
    const why = delay?.text ?? progressOf(key);
    return needed(`The rotation requested${rotation.text} is not done: ${why}`);
  }
  if (current === undefined) return { isNeeded: false, text: "Wait for the first key." };
  const moving = movingKeyText(key);
  if (moving !== undefined) return { isNeeded: false, text: `Wait: the ${moving}` };
  const forecast = forecastOf(key);
  if (forecast === undefined) return { isNeeded: false, text: NO_FORECAST };
  const window = forecast.reason === OUTSIDE_WINDOWS ? ` ${forecast.message}` : "";
  const text = `Nothing: the key is renewed ${relative(renewalTime, now)}.${window}`;
  return { isNeeded: false, text };
}
