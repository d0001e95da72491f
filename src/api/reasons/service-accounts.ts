/** Reasons of ServiceAccounts. */
import type { Reason } from "./reason.ts";

export const ofServiceAccounts = {
  AccessRevoked: {
    meaning:
      "`spec.access` of the ServiceAccount is `Revoked`, and a read of the console has confirmed that no policy is bound. `Ready` is True: the account exists. PolicyBindings of the account are *Stalled*.",
    check: "`kubectl get iamsa NAME -n NAMESPACE -o jsonpath='{.status.bindings}'`.",
    fix: "To restore access, first delete leaked keys in the console, because they work again. Then set `spec.access: Granted` on the ServiceAccount.",
  },
  RevokingAccess: {
    meaning:
      "`spec.access` of the ServiceAccount is `Revoked`, and policies can still be bound: `Ready` is not True before a read has shown that none is. The reason [SyncUnconfirmed](#syncunconfirmed) means that the console does not show the bound policies.",
    fix: "Wait a few seconds: access is being revoked. If the connection is suspended or not ready, fix that, or ask an administrator of the console to unbind the policies.",
  },
  AccountExists: {
    meaning:
      "The console already has an account of that name, which was not created for this object. Accounts are never imported by name. Without `spec.name`, objects of two namespaces can [have the same name](multi-tenancy.md#names-of-accounts).",
    check:
      "the saIds in the message; the accounts' descriptions in the console name the owner: the object, and its cluster if that has a name.",
    fix: "If another cluster has the account, [set `accountNamePrefix` of the connection](several-clusters.md). Otherwise, create the object again with another `spec.name`, or with `spec.saId` to import the account (the grant must allow it).",
  },
  AmbiguousServiceAccount: {
    meaning:
      "After an interrupted creation, several accounts in the console match. The message has their saIds.",
    fix: "Create the object again with the saId of the correct account.",
  },
  AlreadyClaimed: {
    meaning:
      "Another ServiceAccount object, named in the message, manages this account: it had the account first, is older, or uses a ClusterConnection while this object uses a Connection.",
    fix: "Delete the one of the two that nothing uses, with `spec.deletionPolicy: Retain`: that changes nothing in the console. If a status was edited or restored, correct its saId as the message says.",
  },
  CreateOutcomeUnknown: {
    meaning:
      "The console did not answer the creation. The operator finds out whether the account exists before it creates one.",
    check: "the message; it says if the console does not allow listing accounts.",
    fix: "Wait. If accounts cannot be listed, search the console for the account (its description names the object), then create the object again, with `spec.saId` if the account exists.",
  },
  AccountUnknown: {
    meaning:
      "A ServiceAccount is being deleted, its status names no account (its creation was rejected, or the status was edited or restored), and the console rejects listing accounts. The operator cannot tell whether policies must be unbound.",
    check: "the account in the console. Its description ends with `k8s NAMESPACE/NAME#` and an ID.",
    fix: "Ask the console's administrator to allow listing accounts. If no account exists, or to leave it as it is, set `spec.deletionPolicy: Retain`: the deletion ends at once. Otherwise it ends at the [deadline](uninstall.md#deadline-of-a-deletion) with the event `CleanupIncomplete`; then clean up in the console.",
  },
  WaitingForLateCall: {
    meaning:
      "A ServiceAccount is being deleted, and its policies are unbound. An earlier `syncBindings` call without a usable response may still bind some of them, and nothing would unbind them later.",
    fix: "Wait: the policies are unbound again every 30 seconds, and the deletion ends at most 10 minutes after that call.",
  },
  ServiceAccountNotFound: {
    meaning:
      "Of a ServiceAccount: the account in `spec.saId` does not exist in the console. Of an ApiKey: the ServiceAccount in `spec.serviceAccountRef` does not exist in the namespace.",
    fix: "Create the ServiceAccount that the message names; if it exists, create it again with the correct `spec.saId`.",
  },
  ServiceAccountGone: {
    meaning:
      "The account was deleted in the console. Its keys no longer work. The operator does not create another account in its place.",
    check: "the console's audit log, for the deletion.",
    fix: "Move its ApiKeys and policies to a new account: `kubectl iam replace-account`. Or delete its ApiKeys and PolicyBindings and then the ServiceAccount, and create them again if they are still needed.",
  },
  ServiceAccountMismatch: {
    meaning:
      "The status names an account that has another name in the console, or was created for another ServiceAccount: the status was edited, or restored from another object. The operator does not change that account.",
    check:
      "the account in the console, by the saId in the message; `metadata.managedFields` names the author of the status.",
    fix: "If the account was renamed in the console, restore its name. Otherwise, correct the saId in the status with the command in the message.",
  },
  ServiceAccountNotActive: {
    meaning:
      "The console reports that the account is not active. Its keys do not work, and no key is issued.",
    fix: "Activate the account in the console.",
  },
  OrganizationMismatch: {
    meaning: "The account and the connection belong to different organizations.",
    fix: "Create the object again with a connection of the account's organization.",
  },
  ProjectMismatch: {
    meaning: "The account does not belong to the project in `spec.projectId`.",
    fix: "Create the object again with the correct `spec.projectId`, or without it.",
  },
  ProjectNotGranted: {
    meaning: "No grant gives the project in `spec.projectId` to the namespace.",
    fix: "Create the object again without `spec.projectId`, or ask for the project in `projectIds` of the namespace's grant.",
  },
  AccountListTooLarge: {
    meaning:
      "The console's list of accounts is larger than the operator reads (8 MiB, or 10,000 records of 20 fields), so it creates no accounts. Existing accounts, keys and policies are not affected.",
    fix: "Ask the console's administrator to delete unused accounts. Set `maxServiceAccounts` in every grant.",
  },
  AccountListUnreadable: {
    meaning:
      "The grant limits the accounts of the namespace, but the console's list of accounts cannot be read whole: it comes in pages, in an unknown form, or not at all. The operator creates no account.",
    fix: "If the console lists accounts in pages, name its query parameters in `accountListPages` of the connection, such as `{pageParameter: page, pageSizeParameter: pageSize}`. Otherwise remove `maxServiceAccounts` from the grant.",
  },
  TooManyServiceAccounts: {
    meaning: "The namespace has as many accounts as its grant's `maxServiceAccounts` allows.",
    fix: "Delete a ServiceAccount of the namespace that nothing uses, and its account in the console, or ask the administrator of the ClusterConnection for a higher `maxServiceAccounts`.",
  },
  ProjectMissing: {
    meaning: "Neither the object nor its connection names a project.",
    fix: "Set `projectId` of the connection, or create the object again with `spec.projectId`.",
  },
  TpnUnknown: {
    meaning:
      "The console's answer does not name the account's TPN (its resource name). Without the TPN, policies cannot be bound or unbound.",
    fix: "Ask the console's administrator. The operator asks again with every check of the account.",
  },
  DeleteNotPossible: {
    meaning:
      "The object has `deletionPolicy: Delete`, but the connection names no call that deletes an account.",
    fix: "Set `extraCalls.deleteServiceAccount` of the connection, or set `spec.deletionPolicy` to `Revoke` or `Retain`.",
  },
  UnmanagedKeys: {
    meaning:
      "The console lists valid keys of the account that no ApiKey names. They were issued outside the operator, before the import of the account, by a deleted ApiKey, or by a call that took effect late. The ServiceAccount stays Ready.",
    check:
      "`kubectl get iamsa NAME -o jsonpath='{.status.unmanagedKeys}'`, and the keys' descriptions in the console. An entry with `apiKey` moves to `status.orphaned` of that ApiKey, unless the ApiKey is suspended.",
    fix: "Delete unused keys in the console. If keys are issued outside the operator on purpose, set `spec.unmanagedKeys: Expect` of the ServiceAccount: then they cause no event or alert.",
  },
} as const satisfies Record<string, Reason>;
