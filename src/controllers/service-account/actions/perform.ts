import { isIamError } from "../../../iam/errors.ts";
import { assertNever } from "../../../util/assert-never.ts";
import type { ReconcileContext } from "../../frame/kind-controller.ts";
import { failureReadiness } from "../../frame/rules/failure.ts";
import { reconciling, stalled } from "../../frame/rules/waiting.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import type { AccountAction, AccountKind, AccountProgress } from "../rules/snapshot.ts";
import { deleteAccount, revokePolicies } from "./clean-up.ts";
import { createAccount, recordAttempt } from "./create-account.ts";
import { auditAccounts, clientOf, getAccount, listAccounts } from "./look-up.ts";

/**
 * Carries out one action and rejects with its error. If the object is being deleted, a console error is a fact for the
 * rules instead, because a deletion must finish even if the console is down (L6).
 */
export async function perform(
  action: AccountAction,
  progress: AccountProgress,
  run: ReconcileContext<AccountKind>,
  marked: MarkedAccounts,
): Promise<AccountProgress> {
  try {
    return await carryOut(action, progress, run, marked);
  } catch (error) {
    const { snapshot, done } = progress;
    const isDeleting = snapshot.object.metadata.deletionTimestamp !== undefined;
    const readiness = isDeleting && isIamError(error) ? failureReadiness(error) : undefined;
    if (readiness === undefined) throw error;
    const { state, reason, message } = readiness;
    const waiting = state === "Stalled" ? stalled : reconciling;
    return { snapshot, done: { ...done, failure: waiting(reason, message) } };
  }
}

async function carryOut(
  action: AccountAction,
  progress: AccountProgress,
  run: ReconcileContext<AccountKind>,
  marked: MarkedAccounts,
): Promise<AccountProgress> {
  const { snapshot, done } = progress;
  switch (action.kind) {
    case "ListAccounts":
      return listAccounts(progress, run, marked);
    case "AuditAccounts":
      return auditAccounts(progress, run, marked);
    case "GetAccount":
      return getAccount(action.saId, progress, run);
    case "RecordAttempt":
      return recordAttempt(progress, run);
    case "CreateAccount":
      return createAccount(action.account, progress, run, marked);
    case "CloseAttempt":
      return {
        snapshot: { ...snapshot, attempt: undefined, recoveryTime: run.clock.now() },
        done,
      };
    case "RecordAccount": {
      const { account, because } = action;
      const became = because === "FinalizerMissing" ? {} : { became: because };
      const recoveryTime = because === "Recovered" ? run.clock.now() : snapshot.recoveryTime;
      return {
        snapshot: { ...snapshot, account, attempt: undefined, recoveryTime },
        done: { ...done, ...became },
      };
    }
    case "RevokePolicies":
      await revokePolicies(clientOf(snapshot), action, run.signal);
      return {
        snapshot,
        done: { ...done, cleanedUp: action.only === undefined ? "Revoked" : "RetainNotGranted" },
      };
    case "DeleteAccount":
      await deleteAccount(clientOf(snapshot), action.saId, run.signal);
      return { snapshot, done: { ...done, cleanedUp: "Deleted" } };
    default:
      return assertNever(action);
  }
}
