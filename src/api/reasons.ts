/** The meaning of each kind's conditions, for the reference pages. */

export interface ConditionHelp {
  readonly type: string;
  readonly meaning: string;
  /** Reasons that require manual action, with the action. */
  readonly reasons: Readonly<Record<string, string>>;
}

const everywhere: readonly ConditionHelp[] = [
  {
    type: "Ready",
    meaning: "The object is as declared.",
    reasons: { Suspended: "Set spec.suspend to false to resume." },
  },
  {
    type: "Reconciling",
    meaning: "The operator is reconciling the object, or waits for a change that it watches.",
    reasons: {},
  },
  {
    type: "Stalled",
    meaning: "Manual action is required.",
    reasons: {
      InvalidSpec: "Correct the field that the message names.",
    },
  },
];

function conditions(...more: readonly ConditionHelp[]): readonly ConditionHelp[] {
  const merged = everywhere.map((help) => ({
    ...help,
    meaning: more.find(({ type }) => type === help.type)?.meaning || help.meaning,
    reasons: { ...help.reasons, ...more.find(({ type }) => type === help.type)?.reasons },
  }));
  return [...merged, ...more.filter(({ type }) => everywhere.every((help) => help.type !== type))];
}

/** What a namespaced object requires before anything else. */
const waitsForConnection = {
  ConnectionNotFound: "Create the connection, or name another connection in spec.connectionRef.",
  ConnectionNotReady:
    "Check the connection's Ready condition; objects that use it are reconciled as soon as it is ready.",
  ConnectionSuspended: "Set spec.suspend of the connection to false to resume.",
  NotGranted: "Ask the administrator of the ClusterConnection for a grant to this namespace.",
  PermissionDenied: "Follow the checks in the message; ask the console's administrator.",
};

/** For kinds that change something in the console. */
const heldBack = {
  PlanOnly:
    "Read status.plan; take the annotation iam-operator.io/plan-only away, or --read-only of the operator, to have it done.",
};

/** For kinds whose deletion cleans up in the console. */
const cleanupBlocked: ConditionHelp = {
  type: "CleanupBlocked",
  meaning:
    "The object is being deleted, and the operator cannot clean up in the console. Ten minutes after the last transition, it removes the finalizer and reports in an event what is left. Absent otherwise.",
  reasons: {},
};

const connection = conditions(
  {
    type: "Ready",
    meaning: "",
    reasons: {
      InUse: "Delete the objects that the message names; they still need the connection.",
    },
  },
  {
    type: "Authenticated",
    meaning: "The console accepts the credentials.",
    reasons: {
      SecretNotFound: "Create the Secret that the message names.",
      SecretIncomplete: "Add the keys that the message names to the Secret.",
      ConfigMapNotFound: "Create the ConfigMap that the message names.",
      ConfigMapIncomplete: "Add the key that the message names to the ConfigMap.",
      CertificateInvalid: "Correct the entry that the message names: it needs certificates in PEM.",
      LoginFailed:
        "Correct the credentials in the Secret; three failures in a row pause the login.",
      LoginPaused: "Correct the credentials in the Secret: that ends the pause at once.",
      MfaRequired: "Use a login without multi-factor authentication, then change the Secret.",
    },
  },
);

/** By kind. */
export const conditionHelp: Readonly<Record<string, readonly ConditionHelp[]>> = {
  Connection: connection,
  ClusterConnection: connection,
  ServiceAccount: conditions(
    {
      type: "Ready",
      meaning: "",
      reasons: {
        ...waitsForConnection,
        RevokingAccess:
          "Wait: access is being revoked. Check the connection if it takes longer than a minute.",
        AccessRevoked:
          "Access is revoked: set spec.access: Granted to restore it. A leaked key then works again, so revoke it first.",
        InUse: "Delete the ApiKeys and PolicyBindings that the message names.",
        ServiceAccountNotActive:
          "Activate the account in the console; until then no key is issued.",
        CreateOutcomeUnknown:
          "Wait: the operator finds out whether the interrupted creation has taken effect.",
        AccountUnknown:
          "The status does not name the account, and the console rejects listing accounts: ask its administrator, or clean up in the console.",
        TpnUnknown: "The console does not return the account's TPN; ask its administrator.",
      },
    },
    {
      type: "Stalled",
      meaning: "",
      reasons: {
        ...heldBack,
        AccountExists:
          "An account of that name exists: create the object again, with another spec.name, or with spec.saId to import it.",
        AmbiguousServiceAccount:
          "Several accounts in the console match: create the object again with the saId of the correct account.",
        AlreadyClaimed: "Another object manages this account: delete one of the two objects.",
        ServiceAccountNotFound:
          "Create the object again with the correct spec.saId: the account does not exist in the console.",
        ServiceAccountGone:
          "The account was deleted in the console: delete this object, and create it again if it is still needed.",
        ServiceAccountMismatch:
          "The status names an account that was not created for this object: create the object again, with spec.saId to import that account.",
        OrganizationMismatch: "Use a connection of the account's organization.",
        ProjectMismatch: "Correct spec.projectId: the account belongs to another project.",
        ProjectNotGranted: "Leave out spec.projectId, or ask for that project in the grant.",
        TooManyServiceAccounts:
          "Delete another ServiceAccount of the namespace and its account in the console, or ask for a higher maxServiceAccounts.",
        AccountListTooLarge:
          "Ask the console's administrator to delete accounts that nothing uses.",
        ProjectMissing: "Set spec.projectId, or projectId of the connection.",
        DeleteNotPossible:
          "Set extraCalls.deleteServiceAccount of the connection, or another spec.deletionPolicy.",
      },
    },
    {
      type: "AccessRevoked",
      meaning:
        "No policy is bound to the account, because spec.access is Revoked. False while policies are still bound; absent while access is granted.",
      reasons: {
        RevokingAccess:
          "Wait: access is being revoked. Check the connection if it takes longer than a minute.",
      },
    },
    {
      type: "KeysManaged",
      meaning:
        "ApiKeys name every valid key in the console's list of the account's keys. Unknown if the console does not list keys.",
      reasons: {
        UnmanagedKeys:
          "Delete the keys that the message names in the console, or set spec.unmanagedKeys: Expect if keys are issued outside the operator.",
      },
    },
    cleanupBlocked,
  ),
  PolicyBinding: conditions(
    {
      type: "Ready",
      meaning: "",
      reasons: {
        WaitingForServiceAccount: "Check the ServiceAccount's Ready condition.",
        Contended:
          "The account's policies keep being changed outside the operator: find the cause, or set foreignPolicies: Keep.",
      },
    },
    {
      type: "Stalled",
      meaning: "",
      reasons: {
        ...heldBack,
        AccessRevoked:
          "Access is revoked: set spec.access: Granted on the ServiceAccount to restore it. A leaked key then works again, so revoke it first.",
        ServiceAccountSuspended: "Set spec.suspend of the ServiceAccount to false.",
        PolicyNotGranted: "Ask for a grant of the policies that the message names.",
        PolicyRefused:
          "The console rejects a policy, such as a policy of kind scp: remove it from spec.policyIds.",
        BindingsUnreadable:
          "The console's answer about bound policies cannot be read: set foreignPolicies: Remove if only PolicyBindings bind policies to this account.",
        TooManyPolicies: "Bind fewer policies to the account.",
      },
    },
    cleanupBlocked,
  ),
  ApiKey: conditions(
    {
      type: "Ready",
      meaning: "The Secret holds a valid key pair that the console accepts.",
      reasons: {
        ServiceAccountNotFound: "Create the ServiceAccount that the message names.",
        ServiceAccountNotReady: "Check the ServiceAccount's Ready condition.",
        ExpiringSoon: "The key was not renewed in time: the message names the cause.",
        Recovering: "Wait: an interrupted issue is being explained, which takes about 20 seconds.",
        Verifying: "Wait: the console can take a while to accept a new key.",
        KeyRefused: "Wait: a new key is issued within three minutes.",
        WaitingForPeer:
          "Wait: whether another ApiKey of the account lost a key is being found out, which takes about 20 seconds.",
      },
    },
    {
      type: "Stalled",
      meaning: "",
      reasons: {
        ...heldBack,
        SecretConflict:
          "The Secret belongs to another ApiKey or another owner: the message names the safe ways out. spec.secret.name of an existing ApiKey is immutable.",
        TooManyListedKeys:
          "Find out why keys get lost, delete the listed keys in the console, then recreate the ApiKey with the command in the message.",
        MetadataNotAllowed:
          "Remove the label or annotation from spec.secret, or have the connection's administrator add it to allowedSecretMetadata.",
        LifetimeNotGranted:
          "Set spec.expiresInDays to the number in the message, or ask the connection's administrator for more.",
      },
    },
    {
      type: "Verified",
      meaning: "The console has accepted a call with the key pair.",
      reasons: {
        VerificationFailed:
          "The console does not accept the new key: the current key stays in use.",
        KeyRefused: "The console no longer accepts the key; a new key is issued.",
      },
    },
    {
      type: "IssuanceAllowed",
      meaning: "The operator can issue another key.",
      reasons: {
        BudgetExceeded:
          "Find out why keys get lost, then wait for a day, or request a rotation: kubectl iam rotate.",
        NamespaceBudgetExceeded:
          "The namespace's grant allows no more keys today: wait, or ask for a higher maxIssuesPerDay.",
        IssuanceFailing:
          "Wait: the console does not answer issueKey, so the operator tries it ever less often, at least every 5 minutes. Check the console and the gateways before it.",
        TooManyLiveKeys:
          "Earlier keys are still valid in the console, and the key in use has not expired: wait, or request a rotation: kubectl iam rotate.",
      },
    },
    {
      type: "ConsumersCurrent",
      meaning:
        "Every Pod uses the current version of the Secret. Only if the operator counts Pods, or rotation.waitForConsumers is set.",
      reasons: {
        ConsumersStale:
          "Restart the Pods that the message names, or have it done by spec.rollout; files change by themselves.",
        CountingDisabled: "Start the operator with --consumers=count or restart.",
        Forbidden:
          "Grant the operator the permissions of the chart's consumers.mode in this namespace.",
      },
    },
    {
      type: "RolledOut",
      meaning: "No workload of spec.rollout has a restart before it.",
      reasons: {
        RestartsDisabled: "Start the operator with --consumers=restart.",
        WorkloadNotFound: "Create the workload that the message names, or correct spec.rollout.",
        RestartFailed: "The message has the API server's words; the operator tries again.",
        IntervalNotOver: "Wait, or lower spec.rollout.minInterval.",
        NotConverging:
          "The workload was restarted, yet Pods of it are older: look whether its rollout is paused or stuck.",
      },
    },
    cleanupBlocked,
  ),
  ResourceQuotaExport: conditions(
    {
      type: "Ready",
      meaning: "The last listing was taken, and taken whole.",
      reasons: {
        ...waitsForConnection,
        WaitingForApiKey: "Check the Ready condition of the ApiKey in spec.apiKeyRef.",
        KeyRejected: "The console does not accept the key; check the conditions of the ApiKey.",
        TooManySeries:
          "Some quotas are not exported: filter by spec.namespaces or spec.filterNames, or raise quotaExports.maxSeriesPerExport or quotaExports.maxSeries of the chart.",
      },
    },
    {
      type: "Stalled",
      meaning: "",
      reasons: {
        ConnectionMismatch: "Use the connection of the ApiKey's own ServiceAccount.",
        QuotaExportNotGranted:
          "Name an ApiKey in spec.apiKeyRef, or ask for the cluster in quotaExports of the grant.",
      },
    },
  ),
};
