/** The meaning of each kind's conditions, for the reference pages. */
import type { ReasonName } from "./sections.ts";

interface ConditionHelp {
  readonly type: string;
  readonly meaning: string;
  /** Reasons that require manual action. */
  readonly reasons: readonly ReasonName[];
}

function ready(
  reasons: readonly ReasonName[],
  meaning = "The object is as declared.",
): ConditionHelp {
  return { type: "Ready", meaning, reasons: ["Suspended", ...reasons] };
}

const reconciling: ConditionHelp = {
  type: "Reconciling",
  meaning: "The operator is reconciling the object, or waits for a change that it watches.",
  reasons: [],
};

function stalled(reasons: readonly ReasonName[] = []): ConditionHelp {
  return {
    type: "Stalled",
    meaning: "Manual action is required.",
    reasons: ["InvalidSpec", ...reasons],
  };
}

/** What a namespaced object requires before anything else. */
const waitsForConnection: readonly ReasonName[] = [
  "ConnectionNotFound",
  "ConnectionNotReady",
  "ConnectionSuspended",
  "NotGranted",
  "PermissionDenied",
];

/** For kinds whose deletion cleans up in the console. */
const cleanupBlocked: ConditionHelp = {
  type: "CleanupBlocked",
  meaning:
    "The object is being deleted, and the operator cannot clean up in the console. The deletion ends at its [deadline](../uninstall.md#deadline-of-a-deletion). Absent otherwise.",
  reasons: [],
};

const connection: readonly ConditionHelp[] = [
  ready(["InUse"]),
  reconciling,
  stalled(),
  {
    type: "Authenticated",
    meaning: "The console accepts the credentials.",
    reasons: [
      "ConsoleUnavailable",
      "AddressRefused",
      "SecretNotFound",
      "SecretIncomplete",
      "ConfigMapNotFound",
      "ConfigMapIncomplete",
      "InvalidEncoding",
      "CertificateInvalid",
      "LoginFailed",
      "LoginPaused",
      "MfaRequired",
    ],
  },
];

/** By kind. */
export const conditionHelp: Readonly<Record<string, readonly ConditionHelp[]>> = {
  Connection: connection,
  ClusterConnection: connection,
  ServiceAccount: [
    ready([
      ...waitsForConnection,
      "RevokingAccess",
      "AccessRevoked",
      "InUse",
      "ServiceAccountNotActive",
      "CreateOutcomeUnknown",
      "AccountUnknown",
      "TpnUnknown",
    ]),
    reconciling,
    stalled([
      "PlanOnly",
      "AccountExists",
      "AmbiguousServiceAccount",
      "AlreadyClaimed",
      "ServiceAccountNotFound",
      "ServiceAccountGone",
      "ServiceAccountMismatch",
      "OrganizationMismatch",
      "ProjectMismatch",
      "ProjectNotGranted",
      "TooManyServiceAccounts",
      "AccountListTooLarge",
      "AccountListUnreadable",
      "UnreadableResponse",
      "ProjectMissing",
      "DeleteNotPossible",
    ]),
    {
      type: "AccessRevoked",
      meaning:
        "A read showed that no policy is bound to the account, because spec.access is Revoked, or that the console no longer has the account. False while policies are still bound; Unknown if the console does not show the bound policies; absent while access is granted.",
      reasons: ["RevokingAccess", "ChangeNotApplied", "SyncUnconfirmed", "ServiceAccountGone"],
    },
    {
      type: "KeysManaged",
      meaning:
        "ApiKeys account for every valid key in the console's list of the account's keys. Unknown if the console does not list keys, and while a key in the list is not confirmed.",
      reasons: ["UnmanagedKeys"],
    },
    cleanupBlocked,
  ],
  PolicyBinding: [
    ready(["WaitingForServiceAccount", "Contended", "ChangeNotApplied", "SyncUnconfirmed"]),
    reconciling,
    stalled([
      "PlanOnly",
      "AccessRevoked",
      "ServiceAccountSuspended",
      "PolicyNotGranted",
      "PolicyRefused",
      "BindingsUnreadable",
      "TooManyPolicies",
    ]),
    cleanupBlocked,
  ],
  ApiKey: [
    ready(
      [
        "ServiceAccountNotFound",
        "ServiceAccountNotReady",
        "ExpiringSoon",
        "Recovering",
        "Verifying",
        "KeyRefused",
        "PermissionsMissing",
        "WaitingForWindow",
      ],
      "The Secret holds a valid key pair that the console accepts.",
    ),
    reconciling,
    stalled([
      "PlanOnly",
      "SecretConflict",
      "UnreadableResponse",
      "TooManyListedKeys",
      "MetadataNotAllowed",
      "LifetimeNotGranted",
    ]),
    {
      type: "Verified",
      meaning:
        "The console has accepted a call with the key pair, and no later answer has shown that the key or its account does not work. Unknown while the ServiceAccount is not ready, or the Secret does not hold the pair: the key is not checked then.",
      reasons: [
        "VerificationFailed",
        "KeyRefused",
        "ServiceAccountNotReady",
        "SecretMissing",
        "SecretReplaced",
        "SecretEdited",
      ],
    },
    {
      type: "IssuanceAllowed",
      meaning:
        "Nothing that would stop the next key is known. Dry runs find admission policies and quotas once a day, before each issue, when the console refuses the key, and with `kubectl iam reconcile`. A limit that ends with time counts only once a key is needed; a daily limit, of the ApiKey or of the grant, counts earlier if it lasts beyond the renewal. The message names a rotation that waits. The reason can also be that of another condition, such as `Suspended` or `PlanOnly`.",
      reasons: [
        "SecretImmutable",
        "SecretNotKept",
        "SecretRejected",
        "UnreadableResponse",
        "BudgetExceeded",
        "NamespaceBudgetExceeded",
        "IssuanceFailing",
        "TooManyOrphanedKeys",
        "PermissionsMissing",
      ],
    },
    {
      type: "ConsumersCurrent",
      meaning:
        "Every Pod uses the current version of the Secret. Only if the operator counts Pods, or `rotation.maxOverlapExtension` is set.",
      reasons: ["ConsumersStale", "CountingDisabled", "Forbidden"],
    },
    {
      type: "RolledOut",
      meaning: "No workload of spec.rollout has a restart before it.",
      reasons: [
        "RestartsDisabled",
        "WorkloadNotFound",
        "RestartFailed",
        "IntervalNotOver",
        "NotConverging",
      ],
    },
    cleanupBlocked,
  ],
  ResourceQuotaExport: [
    ready(
      [...waitsForConnection, "WaitingForApiKey", "KeyRejected", "TooManySeries"],
      "The last listing was taken, and taken whole.",
    ),
    reconciling,
    stalled(["ConnectionMismatch", "QuotaExportNotGranted"]),
  ],
};
