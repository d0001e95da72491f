/** Readiness of an object that is not being deleted. Pure. */
import { findCondition, type Readiness } from "../../../api/conditions.ts";
import type { ServiceAccount } from "../../../api/service-account.ts";
import { firstFinding, type Waiting } from "../../../reconciler/rules/outcome.ts";
import { withAccess } from "./access.ts";
import { accountReadiness, judgeAnswer } from "./account.ts";
import { preconditions } from "./preconditions.ts";
import type { AccountSnapshot } from "./snapshot.ts";

/** Readiness of an object for which nothing is left to do. */
export function readinessOf(snapshot: AccountSnapshot): Readiness {
  const { account } = snapshot;
  const problem = problemOf(snapshot);
  if (problem !== undefined) return problem;
  if (account === undefined) throw new Error("an object without an account is not settled");
  const readiness = accountReadiness(account);
  return readiness.state === "Ready" ? withAccess(readiness, snapshot) : readiness;
}

/** Why the object may not use an account, or why its account is not its own. */
export function problemOf(snapshot: AccountSnapshot): Waiting | undefined {
  return firstFinding(preconditions, snapshot) ?? findingOf(snapshot);
}

/** The finding of the last read, if it did not find the object's account. */
export function findingOf(snapshot: AccountSnapshot): Waiting | undefined {
  const judged = judgeAnswer(snapshot);
  return judged === undefined ? snapshot.state.lastRead?.finding : judged.finding;
}

const FINDINGS: ReadonlySet<string> = new Set([
  "ServiceAccountNotActive",
  "ServiceAccountNotFound",
  "ServiceAccountGone",
  "ServiceAccountMismatch",
  "OrganizationMismatch",
  "ProjectMismatch",
]);

/** Why the account cannot be used, as last reported: a failed call does not disprove it. */
export function findingOn({ status }: ServiceAccount): Readiness | undefined {
  const found = findCondition(status?.conditions, "Stalled");
  if (found === undefined || !FINDINGS.has(found.reason)) return undefined;
  return { state: "Stalled", reason: found.reason, message: found.message };
}
