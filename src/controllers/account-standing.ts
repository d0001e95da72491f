/** What a ServiceAccount's Ready condition tells other kinds. Pure. */
import { findCondition } from "../api/conditions.ts";
import type { ServiceAccount } from "../api/service-account.ts";

/** Reasons of a ServiceAccount that other kinds judge: its own rules report them from here. */
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
  /** It is ready, or deleted and waiting for its users to be deleted. */
  | "InCharge"
  /** It is not ready, but the account is certainly its own. */
  | "NotReady"
  /** The console does not know the account. */
  | "Gone"
  /** The account may be another object's. */
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
