/** What other kinds conclude from a ServiceAccount's Ready condition. Pure. */
import { findCondition } from "../api/conditions.ts";
import type { ServiceAccount } from "../api/service-account.ts";

/** Reasons in a ServiceAccount's conditions that other kinds evaluate; its own rules use these constants. */
export const ACCOUNT_REASON = {
  inUse: "InUse",
  notGranted: "NotGranted",
  suspended: "Suspended",
  notActive: "ServiceAccountNotActive",
  deleteNotPossible: "DeleteNotPossible",
  notFound: "ServiceAccountNotFound",
  gone: "ServiceAccountGone",
} as const;

export type Standing =
  /** The ServiceAccount is ready, or its deletion waits for the deletion of its users. */
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

export function accountStanding({ metadata, status }: ServiceAccount): Standing {
  const { status: ready, reason = "" } = findCondition(status?.conditions, "Ready") ?? {};
  const isDeleted = metadata.deletionTimestamp !== undefined;
  if (ready === "True" || (isDeleted && reason === ACCOUNT_REASON.inUse)) return "InCharge";
  if (OWN.has(reason)) return "NotReady";
  return GONE.has(reason) ? "Gone" : "Uncertain";
}
