/** The one thing to do next about an object. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import { conditionHelp } from "../../api/reasons.ts";
import { ownEntry } from "../../util/own-entry.ts";
import type { Instant } from "../../util/time.ts";
import { type AnyObject, type KindName, toText } from "../cluster/kinds.ts";
import { readinessOf } from "./readiness.ts";
import { relative } from "./time.ts";

export interface NextStep {
  /** Whether a person has to do something. */
  readonly isNeeded: boolean;
  readonly text: string;
}

export function nextStep(object: AnyObject, now: Instant): NextStep {
  const { ready, reason } = readinessOf(object);
  const about = toText({ kind: object.kind as KindName, name: object.metadata.name });
  if (object.metadata.deletionTimestamp !== undefined)
    return { isNeeded: false, text: "Wait: it is being deleted." };
  if (object.spec?.suspend === true)
    return needed(`Suspended: kubectl iam resume ${about} when the operator may write again.`);
  if (ready !== "True") return needed(helpFor(object, reason));
  if (ACCESS_REASONS.has(reason)) return needed(helpFor(object, reason));
  const secondary = firstProblem(object);
  if (secondary !== undefined) return needed(helpFor(object, secondary));
  return object.kind === "ApiKey"
    ? nextOfKey(object as ApiKey, now)
    : { isNeeded: false, text: "Nothing." };
}

/** Of an account that is ready and has no access. */
const ACCESS_REASONS: ReadonlySet<string> = new Set(["AccessRevoked", "RevokingAccess"]);

function needed(text: string): NextStep {
  return { isNeeded: true, text };
}

/** A condition besides Ready that says no. */
function firstProblem({ status }: AnyObject): string | undefined {
  const quiet = ["Ready", "Reconciling", "Stalled"];
  return status?.conditions?.find(({ type, status }) => status === "False" && !quiet.includes(type))
    ?.reason;
}

function helpFor({ kind, status }: AnyObject, reason: string): string {
  const help = (ownEntry(conditionHelp, kind) ?? []).find(({ reasons }) =>
    Object.hasOwn(reasons, reason),
  );
  const text = ownEntry(help?.reasons, reason);
  if (text !== undefined) return text;
  const isWaiting = findCondition(status?.conditions, "Reconciling")?.status === "True";
  const explained = `kubectl iam explain ${reason} says more.`;
  if (reason === "NotSeen") return "Look whether the operator runs: kubectl iam doctor.";
  return isWaiting ? `Wait: it goes on by itself. ${explained}` : explained;
}

function nextOfKey({ metadata, status, spec }: ApiKey, now: Instant): NextStep {
  const { orphaned = [], consumers, renewalTime, current } = status ?? {};
  if (orphaned.length > 0)
    return needed(
      `End the lost keys at the console: kubectl iam orphans -n ${metadata.namespace}.`,
    );
  if ((consumers?.stale ?? 0) > 0)
    return needed(
      spec.rollout === undefined
        ? "Restart the Pods that are on an older key, or name their workloads in spec.rollout."
        : "Wait: the workloads of spec.rollout are being restarted.",
    );
  if (current === undefined) return { isNeeded: false, text: "Wait for the first key." };
  return { isNeeded: false, text: `Nothing: the key is renewed ${relative(renewalTime, now)}.` };
}
