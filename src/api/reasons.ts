/** What the conditions of each kind say; the reference pages show it. */

export interface ConditionHelp {
  readonly type: string;
  readonly meaning: string;
  /** Reasons that call for a person, and what that person does. */
  readonly reasons: Readonly<Record<string, string>>;
}

const everywhere: readonly ConditionHelp[] = [
  {
    type: "Ready",
    meaning: "The object is as declared.",
    reasons: { Suspended: "Set spec.suspend to false when the operator may write again." },
  },
  {
    type: "Reconciling",
    meaning: "The operator is at work on the object, or waits for something that will wake it.",
    reasons: {},
  },
  {
    type: "Stalled",
    meaning: "Only a change by a person helps; the operator waits for it.",
    reasons: {
      InvalidSpec: "Correct the field that the message names.",
    },
  },
];

function conditions(...more: readonly ConditionHelp[]): readonly ConditionHelp[] {
  const merged = everywhere.map((help) => ({
    ...help,
    reasons: { ...help.reasons, ...more.find(({ type }) => type === help.type)?.reasons },
  }));
  return [...merged, ...more.filter(({ type }) => everywhere.every((help) => help.type !== type))];
}

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
        InUse: "Delete the ApiKeys and PolicyBindings that the message names.",
        ServiceAccountNotActive:
          "Activate the account at the console; until then no key is issued.",
      },
    },
    {
      type: "Stalled",
      meaning: "",
      reasons: {
        AmbiguousServiceAccount:
          "Several accounts at the console might be this one: create the object again with the saId of the right one.",
        AlreadyClaimed: "Another, older object has this account: delete one of the two.",
      },
    },
  ),
  PolicyBinding: conditions(),
  ApiKey: conditions(
    {
      type: "Verified",
      meaning: "The console has accepted a call with the key pair.",
      reasons: {},
    },
    {
      type: "IssuanceAllowed",
      meaning: "Another key may be issued if one is needed.",
      reasons: {
        BudgetExceeded:
          "Find out why keys get lost, then wait for a day, or ask for a key by the annotation iam.console.dev/rotate-requested-at.",
      },
    },
  ),
  ResourceQuotaExport: conditions(),
};
