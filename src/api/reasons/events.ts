/** Reasons of events, and of conditions that require no action. */
import type { Reason } from "./reason.ts";

export const ofWarnings = {
  KeyOrphaned: {
    meaning:
      "A key was issued but its secret was lost: the process or the network failed between the console's commit and the operator's write. The key is in `status.orphaned` until a day after it expires.",
    check: "`kubectl get iamkey NAME -o jsonpath='{.status.orphaned}'`.",
    fix: "Disable or delete that key in the console. See [what cannot be promised](safety.md#what-cannot-be-promised).",
  },
  UnmanagedKey: {
    meaning:
      "The console lists a key that no ApiKey names. The condition [KeysManaged](#unmanagedkeys) of the ServiceAccount names all unmanaged keys.",
    fix: "See [UnmanagedKeys](#unmanagedkeys).",
  },
  OrphanedAccount: {
    meaning:
      "A creation took effect late or twice: the console lists another account with the description of this ServiceAccount or, if it shows no descriptions, with its name (`evidence: Name`). `status.orphanedAccounts` names it; the operator never uses it.",
    fix: "Delete the account in the console; with `evidence: Name`, find out first who created it. The status is cleared within an hour, or after `kubectl iam reconcile`.",
  },
  KeysNotRevoked: {
    meaning:
      "The ApiKey is deleted, and these keys still work until they expire: no call of `extraCalls` revokes keys, `spec.secret.deletionPolicy: Retain` keeps them with the Secret, or the console did not answer before the [deadline](uninstall.md#deadline-of-a-deletion).",
    fix: "Disable or delete the keys in the console if that matters.",
  },
  UnexpectedKeyForm: {
    meaning:
      "The console issued a key whose form differs from the documentation. The operator uses it, because the key cannot be issued again.",
    fix: "Tell the console's administrator.",
  },
  LifetimeShortened: {
    meaning:
      "The console issued a key that expires earlier than `spec.expiresInDays` requests. The renewal follows the console's answer.",
    fix: "Ask the console's administrator for the maximum lifetime of keys, and set `spec.expiresInDays` accordingly.",
  },
  KeyReissued: {
    meaning:
      "The console answered a call that issues a key with the ID of a key that this ApiKey already has, and a new secret. The operator delivers the new pair; the earlier secret probably no longer works.",
    fix: "Tell the console's administrator. If consumers of the earlier pair fail, restart them.",
  },
  CleanupIncomplete: {
    meaning:
      "The deletion of a ServiceAccount gave up at its [deadline](uninstall.md#deadline-of-a-deletion); or its status does not name an account, and the console has an account of that name with an unknown owner. The message names what stays in the console.",
    fix: "Clean up in the console.",
  },
  OutcomeUnconfirmed: {
    meaning:
      "The console answered a call that unbinds policies, revokes a key or deletes an account with success, and its answers do not show whether that took effect.",
    fix: "Check in the console what the event names.",
  },
  PoliciesNotRevoked: {
    meaning:
      "A PolicyBinding is deleted and its policies are still bound: its deletion policy retained them, or the console did not accept the change before the [deadline](uninstall.md#deadline-of-a-deletion). Policies that are `Unrevoked` in `status.bindings.policies` of the ServiceAccount are unbound when the console accepts it, unless a PolicyBinding declares them again.",
    fix: "If the ServiceAccount does not list the policies, unbind them in the console, or create a PolicyBinding again.",
  },
  GrantRemoved: {
    meaning:
      "The connection's grants no longer match the namespace. The policies in the event will be unbound at the time in the event, after `withdrawalGracePeriod` of the connection.",
    check: "`spec.grants` of the ClusterConnection, and the labels of the namespace.",
    fix: "If this is a mistake, restore the grant or the label before that time; then no policy is unbound.",
  },
  RetainNotGranted: {
    meaning:
      "A deleted object asked to leave policies bound, by `deletionPolicy: Retain` or `spec.suspend` of a PolicyBinding. The grant does not have `retainPolicies: true`, so the policies that the operator had bound were unbound.",
    fix: "If the policies are still needed, create a PolicyBinding again, or ask for a grant with `retainPolicies: true`.",
  },
  PoliciesReappeared: {
    meaning:
      "A `syncBindings` call without a usable response took effect late, and bound policies again that had been withdrawn since. The operator unbound them after a few seconds.",
    fix: "Find the proxy or queue that delays calls between the operator and the console.",
  },
  ForeignPoliciesFound: {
    meaning:
      "Policies were bound to the account outside the operator. With `foreignPolicies: Keep` they stay.",
    fix: "If these policies are not expected, set `foreignPolicies: Remove`.",
  },
  ClockSkewed: {
    meaning:
      "The clocks of the console and the operator are more than five minutes apart. The operator [uses the time on which two of three clocks agree](safety.md#how-the-operator-tells-the-time). Meanwhile scheduled rotations can wait.",
    fix: "Correct the wrong clock: the operator's if all connections report the same, otherwise the console's.",
  },
  DriftCorrected: {
    meaning:
      "The policies bound in the console differed from the declared policies, and the operator bound the declared ones again.",
    fix: "Find out who changed the policies in the console; declare policies in PolicyBindings.",
  },
} as const satisfies Record<string, Reason>;

export const ofNormalEvents = {
  KeyIssued: { meaning: "The first key was issued and written into the Secret." },
  KeyRotated: {
    meaning:
      "A new key was issued and written into the Secret. The message has the reason of the rotation.",
  },
  KeyDisabled: { meaning: "A superseded or deleted key is disabled in the console." },
  KeyDeleted: { meaning: "A superseded or deleted key is deleted in the console." },
  SecretUpdated: {
    meaning:
      "The Secret was written as `spec.secret` declares it, with the same key: after an edit, a change of the spec, or the end of an overlap.",
  },
  StatusRebuilt: {
    meaning:
      "The status did not name the key in the Secret, for example after a restore. The operator read the key back.",
  },
  AttemptClosed: {
    meaning: "It is clear that an interrupted attempt to issue a key did not leave a lost key.",
  },
  WorkloadRestarted: {
    meaning: "A workload of `spec.rollout` was restarted, because the Secret has changed.",
  },
  Created: { meaning: "The operator created the account in the console." },
  Imported: { meaning: "The operator manages an account that `spec.saId` names." },
  Recovered: {
    meaning: "The operator found the account that an interrupted attempt had created.",
  },
  Deleted: { meaning: "The ServiceAccount is deleted, and its account in the console too." },
  Revoked: {
    meaning:
      "The ServiceAccount is deleted and its policies are unbound; the account stays in the console.",
  },
  Retained: {
    meaning: "The ServiceAccount is deleted; its account in the console stays as it is.",
  },
  Released: {
    meaning:
      "The ServiceAccount is deleted, and nothing was left to clean up: the console does not have the account, or another object manages it.",
  },
} as const satisfies Record<string, Reason>;

export const ofNormalStates = {
  KeyDelivered: { meaning: "The Secret holds a key that the console accepts." },
  KeyAccepted: { meaning: "The console accepted a call with the key." },
  NoUnmanagedKeys: { meaning: "ApiKeys account for every valid key in the console's list." },
  UnmanagedKeysExpected: {
    meaning: "No ApiKey names some of the keys, and `spec.unmanagedKeys` expects that.",
  },
  KeysNotConfirmed: {
    meaning:
      "The console lists keys that no ApiKey names. They are unmanaged if none names them within 30 seconds.",
  },
  KeysNotCompared: {
    meaning:
      "The ServiceAccount is being deleted: the keys that the console lists are not compared with the ApiKeys any more.",
  },
  KeysNotListed: {
    meaning: "The console does not list keys, so unmanaged keys cannot be found.",
  },
  Allowed: { meaning: "A key can be issued when it is due." },
  OutsideWindows: {
    meaning:
      "A key can be issued when it is due. It is due while no window of `spec.rotation.windows` is open: the next window opens too close to the expiry of the key in use.",
  },
  Synced: { meaning: "A read of the console showed the declared policies." },
  PoliciesSynced: { meaning: "A read of the console showed the declared policies." },
  Authenticated: { meaning: "The console accepts the credentials." },
  AllCurrent: { meaning: "All Pods use the current version of the Secret." },
  NothingToRestart: { meaning: "No workload of `spec.rollout` needs a restart." },
  Counting: { meaning: "The Pods that use the Secret are being counted." },
  Listed: { meaning: "All quotas were listed." },
  Creating: { meaning: "The account is being created." },
  Deleting: { meaning: "The object is being deleted." },
} as const satisfies Record<string, Reason>;
