/** Reasons of PolicyBindings. */
import type { Reason } from "./reason.ts";

export const ofPolicies = {
  WaitingForServiceAccount: {
    meaning: "The ServiceAccount of the PolicyBinding does not exist or is not ready.",
    fix: "Create the ServiceAccount, or check its Ready condition: `kubectl iam status iamsa/NAME`.",
  },
  ServiceAccountSuspended: {
    meaning:
      "`spec.suspend` of the ServiceAccount is true: its list of policies is not changed, except to revoke access or policies that are no longer granted. Its ApiKeys continue.",
    fix: "Set `spec.suspend` of the ServiceAccount to false.",
  },
  Syncing: {
    meaning:
      "The console rejected a change of the list without naming the rejected policy. The operator tries the PolicyBindings of the account one by one, so that only the rejected one fails.",
    fix: "Wait a minute.",
  },
  PolicyNotGranted: {
    meaning:
      "The connection does not grant these policies to the namespace. If they were bound before, they are unbound, or stay bound with `withdrawalGracePeriod: Never` of the connection. The other policies of the PolicyBinding are bound.",
    check: "`spec.grants[].policyIds` of the ClusterConnection.",
    fix: "Ask for a grant of the policies that the message names, or remove them from `spec.policyIds`.",
  },
  PolicyRefused: {
    meaning:
      "The console rejects a policy: it does not exist, is not active, belongs to another organization or is of kind `scp`. The others are bound if the console's list of policies shows which one it rejects. Until this is corrected, the PolicyBinding loses no policy.",
    check: "the message; it names the cause if the console's list of policies shows it.",
    fix: "Remove the policy from `spec.policyIds`; or correct it in the console and run `kubectl iam reconcile`: without a request, it is tried again after an hour.",
  },
  BindingsUnreadable: {
    meaning:
      "The console's answer about bound policies cannot be read, and the account was imported. A write replaces the whole list and could unbind policies that were bound outside the operator, so it writes nothing.",
    check: "whether other tools or administrators bind policies to this account.",
    fix: "If only PolicyBindings bind policies to this account, set `foreignPolicies: Remove` on the ServiceAccount.",
  },
  SyncUnconfirmed: {
    meaning:
      "The console accepted the list of policies, or an empty list for `access: Revoked`, and its answer about bound policies cannot be read: what is bound is unknown.",
    check: "the account's policies in the console.",
    fix: "Tell the console's administrator: the operator needs a readable answer of the call that lists the bindings of a target.",
  },
  TooManyPolicies: {
    meaning: "More than 1,000 policies would be bound to one account.",
    fix: "Bind fewer policies to the account.",
  },
  Contended: {
    meaning:
      "The account's policies were changed outside the operator and corrected five times within an hour. Until `contendedUntil` in `status.bindings` of the ServiceAccount, the operator only reads, so that two programs do not overwrite each other endlessly.",
    check:
      "the message, which names another cluster if the account's description does, and the console's audit log.",
    fix: "Stop the other program, or set `foreignPolicies: Keep`.",
  },
} as const satisfies Record<string, Reason>;
