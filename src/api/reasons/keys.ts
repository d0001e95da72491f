/** Reasons of ApiKeys, and the causes for which a key is issued. */
import type { Reason } from "./reason.ts";

export const ofKeys = {
  Pending: {
    meaning: "The key is not in its Secret yet. No problem is known.",
    fix: "Wait a few seconds.",
  },
  Issuing: {
    meaning:
      "A key is being issued: the intent is recorded, and the call starts or is in progress.",
    fix: "Wait. If this persists, the operator was interrupted; the next reconcile reports [Recovering](#recovering).",
  },
  Recovering: {
    meaning:
      "An issuance was interrupted after its intent was recorded. The operator finds out from the account's list of keys whether a key was issued, and issues no other before (`status.attempt`, later `status.orphaned`).",
    fix: "Wait about 20 seconds, or longer if the console is down.",
  },
  Verifying: {
    meaning:
      "The new key is in Secret `NAME-next`, and the console does not accept it yet. Consumers keep the previous key.",
    fix: "Wait: the console can take a while to accept a new key. The key is checked every 5 seconds, after two minutes every minute.",
  },
  VerificationFailed: {
    meaning:
      "The console has not accepted the new key for two minutes. Consumers keep the previous key. After an hour the operator lists the new key in `status.orphaned`, and issues another within the daily budget.",
    check: "in the console: is the account active, and do new keys take long to become valid?",
    fix: "Fix the cause in the console.",
  },
  KeyRefused: {
    meaning:
      "The console no longer accepts the key in the Secret: it was deleted or disabled, or has expired, outside the operator. It is [noticed](safety.md#a-key-that-was-ended-outside-the-operator) with the next list of keys, or at once with `kubectl iam reconcile apikey/NAME`.",
    fix: "Wait: the key is replaced within three minutes if `IssuanceAllowed` is True; otherwise, its message says what to do. To stop the replacement, set `spec.suspend`.",
  },
  ServiceAccountNotReady: {
    meaning: "The ServiceAccount of the key is not ready, or is being deleted.",
    fix: "Check the ServiceAccount's Ready condition: `kubectl iam status iamsa/NAME`. A key in the Secret stays, and works unless the console reports the account as deleted or not active. If the ServiceAccount is being deleted, delete the ApiKey, or name another ServiceAccount in its `spec.serviceAccountRef`.",
  },
  SecretConflict: {
    meaning:
      "The Secret, or the Secret `NAME-next`, belongs to another owner or another ApiKey. The operator does not change it, and issues no key. A Secret that two ApiKeys name belongs to the ApiKey that has a key, otherwise to the older one.",
    check: "`kubectl get secret NAME -n NAMESPACE -o yaml`: owner references, labels, type.",
    fix: "Never delete the Secret of another ApiKey: it may hold the only copy of a key in use. If nothing uses the Secret, or if it is a copy of the Secret of another ApiKey that is Ready, delete it: the operator notices that within six minutes, within an hour if no key is needed yet, or at once after `kubectl iam reconcile iamkey/NAME`. Otherwise create another ApiKey with a different `spec.secret.name`, let its consumers use that Secret before you delete this ApiKey, or let the operator adopt the Secret:",
    commands: [
      "kubectl label secret NAME --namespace NAMESPACE iam-operator.io/api-key=APIKEY",
      `kubectl patch iamkey APIKEY --namespace NAMESPACE --type=merge -p '{"spec":{"secret":{"onExisting":"Adopt"}}}'`,
    ],
  },
  MetadataNotAllowed: {
    meaning:
      "`spec.secret.labels` or `spec.secret.annotations` has a key by which another controller acts on the Secret, such as Argo CD's `argocd.argoproj.io/secret-type`. The operator does not write it. A first key waits; a key in use is still renewed.",
    fix: "Remove the key from `spec.secret`, or ask the connection's administrator to add it to `allowedSecretMetadata`.",
  },
  SecretNotKept: {
    meaning:
      "The API server stores the Secret with other labels, annotations or entries than the operator writes: probably an admission policy or webhook changes it. A key in use stays. If a new pair could not be delivered that way, the operator issues no key.",
    check: "the mutating policies and webhooks of the cluster that match Secrets.",
    fix: "Exempt the operator's Secrets (label `app.kubernetes.io/managed-by: iam-operator`) from the policy, and run `kubectl iam reconcile iamkey/NAME`: without a request, the operator tries again within an hour whether a new key can be delivered, and writes the Secret of a key in use again only after a change of it or of `spec.secret`. If the policy changes only labels or annotations of `spec.secret`, you can declare its values there instead.",
  },
  SecretRejected: {
    meaning:
      "In a dry run, the API server rejects a write that the next key needs: an admission policy, a webhook or a ResourceQuota forbids it, or the Secret is invalid. A key in use stays; the operator issues no other. Or it rejects the Secret `NAME-next` of a key that is already issued: the message then names the key.",
    check:
      "the message, which quotes the API server. A new key, even the first, needs one more Secret for a while, `NAME-next`.",
    fix: "Declare in `spec.secret` what the API server requires, exempt the operator's Secrets (label `app.kubernetes.io/managed-by: iam-operator`) from the policy that rejects them, or raise the quota. Then run `kubectl iam reconcile iamkey/NAME`: without a request, the operator tries again within an hour.",
  },
  SecretImmutable: {
    meaning:
      "The Secret has `immutable: true`, so the API server accepts no other pair. A key in use stays; the operator issues no other. A key that is already issued waits in the Secret `NAME-next`: the message then names it.",
    fix: "Create the Secret again as it is, but without `immutable`, with the command in the message, and run `kubectl iam reconcile`. It keeps the pair in a file until the new Secret is stored: if the API server refuses that, repeat its `kubectl replace`. Do not delete the Secret instead: if something else stops the next key, workloads would have none.",
  },
  LifetimeNotGranted: {
    meaning: "`expiresInDays` is more than the namespace's grant allows.",
    fix: "Set `spec.expiresInDays` to the number in the message or less, or ask the connection's administrator for a higher `maxExpiresInDays`.",
  },
  ExpiringSoon: {
    meaning:
      "The key expires soon and has not been replaced, although a replacement was due. Consumers lose access at the time in the message.",
    check:
      "the rest of the message, for the cause; the conditions `IssuanceAllowed` and `Stalled`.",
    fix: "Fix the cause that the message names. To request a key regardless of lost keys and of the `maxIssuesPerDay` of the ApiKey, run `kubectl iam rotate`, or set the annotation.",
    commands: [
      'kubectl annotate iamkey NAME -n NAMESPACE iam-operator.io/rotate-requested-at="$(date)" --overwrite',
    ],
  },
  NamespaceBudgetExceeded: {
    meaning:
      "A key is needed now or at its renewal, but all ApiKeys of the namespace together were already issued as many keys in 24 hours as its grant's `maxIssuesPerDay` allows. A requested rotation does not exceed it.",
    check: "`status.recentIssues` of the namespace's ApiKeys, for an ApiKey that loses its keys.",
    fix: "Wait until the time in the message, or ask the administrator of the ClusterConnection for a higher `maxIssuesPerDay`.",
  },
  BudgetExceeded: {
    meaning:
      "A key is needed now or at its renewal, but `maxIssuesPerDay` keys were already issued within 24 hours. This limit protects the console from a fault that loses keys.",
    check:
      "`status.orphaned`, `status.superseded`, and the events `KeyOrphaned` and `SecretUpdated`: is the Secret deleted or edited, are responses of the console lost?",
    fix: "If keys get lost, find out why. The next key follows at the time in the message; to have it now, request a rotation with `kubectl iam rotate`, or raise `maxIssuesPerDay`.",
  },
  IssuanceFailing: {
    meaning:
      "The console gave no usable response to two or more attempts to issue a key, and its lists show no key. Each attempt may still lead to a key later, so the operator waits 20 seconds, doubling to 5 minutes.",
    check: "the events `AttemptClosed` of the ApiKey.",
    fix: "Wait until the console answers issueKey; check the gateways before it. To try at once, request a rotation: `kubectl iam rotate`.",
  },
  TooManyOrphanedKeys: {
    meaning:
      "A rotation is due, but two or more keys were lost since the key in use was issued, so the operator tries one key a day. The key in use works meanwhile, and shortly before it expires this limit ends. A workload without a usable key still gets another key.",
    check: "`status.orphaned`: why are responses of the console lost?",
    fix: "Wait until the time in the message, or request a rotation: `kubectl iam rotate`.",
  },
  TooManyListedKeys: {
    meaning:
      "The status lists 900 superseded or 900 orphaned keys. Further keys could not be listed and could be lost, so no further key is issued.",
    fix: "Find out why keys get lost. Delete the listed keys that nothing uses in the console, then do what the message says: it tells how workloads keep a key.",
  },
  NoKeyYet: {
    meaning: "A key is needed because the ApiKey does not have a key yet.",
  },
  SecretMissing: {
    meaning:
      "A key is needed because the Secret was deleted, and with it the only copy of the key's secret.",
    check:
      "the cluster's audit log, for the deletion. A GitOps tool may prune objects that it does not know.",
    fix: "See [incidents](incidents.md#a-secret-was-lost-or-edited) and [GitOps](gitops.md).",
  },
  SecretReplaced: {
    meaning:
      "A key is needed because another Secret of that name has replaced the ApiKey's Secret.",
    fix: "See [SecretConflict](#secretconflict).",
  },
  SecretEdited: {
    meaning:
      "A key is needed because the Secret was edited, and its entries and annotations no longer prove that it holds the key pair.",
    fix: "Change `spec.secret.data` of the ApiKey instead of the Secret.",
  },
  KeyExpired: {
    meaning: "A key is needed because the key in use expired.",
    fix: "See [ExpiringSoon](#expiringsoon) for the possible causes.",
  },
  AccountChanged: {
    meaning:
      "A key is needed because `spec.serviceAccountRef` names another ServiceAccount than the key in use belongs to.",
  },
  PermissionsMissing: {
    meaning:
      "`spec.serviceAccountRef` names another ServiceAccount, and a key of its account would take permissions from the consumers. They keep the key in use until the new account's policies are bound.",
    check: "the PolicyBindings and `spec.access` of the new ServiceAccount.",
    fix: "Create PolicyBindings for the new ServiceAccount, and wait until they are Ready. To stay with the earlier account, change `spec.serviceAccountRef` back.",
  },
  WaitingForWindow: {
    meaning:
      "`spec.serviceAccountRef` names another ServiceAccount, and a key of its account replaces the key in use when the next window of `rotation.windows` opens.",
    fix: "Wait, or request the rotation now: `kubectl iam rotate`.",
  },
  RotationDue: { meaning: "A key is needed because it is time to renew the key." },
  RotationRequested: {
    meaning:
      "A key is needed because the annotation `iam-operator.io/rotate-requested-at` was set.",
  },
  RotationInterrupted: {
    meaning: "A key is needed because a requested rotation was interrupted. It is repeated.",
  },
} as const satisfies Record<string, Reason>;
