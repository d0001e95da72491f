/** What other kinds conclude from a ServiceAccount's Ready condition. Pure. */
import { findCondition, type Readiness } from "../api/conditions.ts";
import type { ServiceAccount } from "../api/service-account.ts";
import { isIamErrorCode, isUnanswered } from "../console/errors.ts";

/** Reasons in a ServiceAccount's conditions that other kinds evaluate; its own rules use these constants. */
export const ACCOUNT_REASON = {
  inUse: "InUse",
  notGranted: "NotGranted",
  suspended: "Suspended",
  notActive: "ServiceAccountNotActive",
  deleteNotPossible: "DeleteNotPossible",
  notFound: "ServiceAccountNotFound",
  gone: "ServiceAccountGone",
  mismatch: "ServiceAccountMismatch",
  foreignOrganization: "OrganizationMismatch",
  foreignProject: "ProjectMismatch",
} as const;

export type Standing =
  /** The ServiceAccount is usable, or its deletion waits for the deletion of its users. */
  | "InCharge"
  /** The ServiceAccount is not ready, but the account certainly belongs to it. */
  | "NotReady"
  /** The console does not know the account. */
  | "Gone"
  /** The account may belong to another object. */
  | "Uncertain";

const OWN: ReadonlySet<string> = new Set([
  ACCOUNT_REASON.inUse,
  ACCOUNT_REASON.notGranted,
  ACCOUNT_REASON.suspended,
  ACCOUNT_REASON.notActive,
  ACCOUNT_REASON.deleteNotPossible,
]);
const GONE: ReadonlySet<string> = new Set([ACCOUNT_REASON.gone, ACCOUNT_REASON.notFound]);

export function accountStanding(account: ServiceAccount): Standing {
  const { metadata, status } = account;
  const { reason = "" } = findCondition(status?.conditions, "Ready") ?? {};
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (isUsable(account) || (isDeleted && reason === ACCOUNT_REASON.inUse)) return "InCharge";
  // A failed call is the reason if the console rejected it, or its response was unreadable.
  if (OWN.has(reason) || isIamErrorCode(reason)) return "NotReady";
  return GONE.has(reason) ? "Gone" : "Uncertain";
}

/** Whether the account is ready, as far as is known: a console that does not answer proves nothing about it. */
export function isUsable({ status }: ServiceAccount): boolean {
  const { status: ready, reason = "" } = findCondition(status?.conditions, "Ready") ?? {};
  return ready === "True" || isUnanswered(reason);
}

const FINDINGS: ReadonlySet<string> = new Set([
  ACCOUNT_REASON.notActive,
  ACCOUNT_REASON.notFound,
  ACCOUNT_REASON.gone,
  ACCOUNT_REASON.mismatch,
  ACCOUNT_REASON.foreignOrganization,
  ACCOUNT_REASON.foreignProject,
]);

const ENDS_KEYS: ReadonlySet<string> = new Set([ACCOUNT_REASON.notActive, ACCOUNT_REASON.gone]);

/** Why no key of the account works, if the console's last answer about the account shows that. */
export function whyKeysFail(account: ServiceAccount): "Inactive" | "Gone" | undefined {
  const { reason } = findingOn(account) ?? {};
  if (reason === undefined || !ENDS_KEYS.has(reason)) return undefined;
  return reason === ACCOUNT_REASON.gone ? "Gone" : "Inactive";
}

/** What the console last answered about the account, if it cannot be used: a failed call does not disprove it. */
export function findingOn({ status }: ServiceAccount): Readiness | undefined {
  const found = findCondition(status?.conditions, "Stalled");
  if (found === undefined || !FINDINGS.has(found.reason)) return undefined;
  return { state: "Stalled", reason: found.reason, message: found.message };
}
