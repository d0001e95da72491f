import type { Steps } from "../../../reconciler/steps.ts";
import type { MarkedAccounts } from "../marked-accounts.ts";
import type { AccountKind } from "../rules/snapshot.ts";
import { deleteAccount, revokePolicies } from "./clean-up.ts";
import { createAccount, recordAttempt } from "./create-account.ts";
import { tolerant } from "./failure.ts";
import { auditAccounts, getAccount, listAccounts } from "./look-up.ts";
import type { AccountTransition } from "./step-types.ts";

const closeAttempt: AccountTransition<"CloseAttempt"> = {
  after: (_, { snapshot, done }, __, { now }) => ({
    snapshot: { ...snapshot, attempt: undefined, recoveryTime: now },
    done,
  }),
};

const recordAccount: AccountTransition<"RecordAccount"> = {
  needsFinalizer: true,
  // An account that the status of a suspended object has lost is recorded for other objects.
  whileSuspended: true,
  after: ({ account, because }, { snapshot, done }, _, { now }) => {
    const became = because === "FinalizerMissing" ? {} : { became: because };
    const recoveryTime = because === "Recovered" ? now : snapshot.recoveryTime;
    return {
      snapshot: { ...snapshot, account, attempt: undefined, recoveryTime },
      done: { ...done, ...became },
    };
  },
};

/** The account of a suspended object is still read. */
export function accountSteps(marked: MarkedAccounts): Steps<AccountKind> {
  return {
    ListAccounts: {
      whileSuspended: true,
      read: tolerant((_, progress, run) => listAccounts(progress, run, marked)),
    },
    AuditAccounts: {
      whileSuspended: true,
      read: (_, progress, run) => auditAccounts(progress, run, marked),
    },
    GetAccount: {
      whileSuspended: true,
      read: tolerant<"GetAccount">(({ saId }, progress, run) => getAccount(saId, progress, run)),
    },
    RecordAttempt: recordAttempt,
    CreateAccount: createAccount(marked),
    CloseAttempt: closeAttempt,
    RecordAccount: recordAccount,
    RevokePolicies: revokePolicies,
    DeleteAccount: deleteAccount,
  };
}
