/** The meaning of each annotation and label, for the reference page. Texts are Markdown, with links that start in docs/reference/. */
import type { annotations, labels } from "./meta.ts";

export interface MetadataHelp {
  /** Who sets it: users, the operator, or the operator for its own use only, with a form that can change. */
  readonly setBy: "You" | "Operator" | "Internal";
  readonly on: string;
  readonly meaning: string;
}

export const annotationHelp: Readonly<Record<keyof typeof annotations, MetadataHelp>> = {
  reconcileRequestedAt: {
    setBy: "You",
    on: "all kinds",
    meaning:
      "Each new value, such as the current time, requests a reconcile now. `status.lastHandledReconcileAt` has the value that was handled last. `kubectl iam reconcile` sets it.",
  },
  rotateRequestedAt: {
    setBy: "You",
    on: "ApiKey",
    meaning:
      "Each new value requests one rotation. The last ten values are not handled again. `kubectl iam rotate` sets it.",
  },
  planOnly: {
    setBy: "You",
    on: "all kinds",
    meaning:
      "Any value except `false`: the operator [plans changes of the object](../kubectl-iam/preview-changes.md) and does not make them.",
  },
  replaces: {
    setBy: "You",
    on: "ServiceAccount, PolicyBinding",
    meaning:
      "Name of the object of the same kind that this object replaces. `kubectl iam replace-account` sets it, and finds the successor of an account by it. The operator does not use it.",
  },
  keyId: { setBy: "Operator", on: "Secret", meaning: "ID of the key in the Secret." },
  issueTime: { setBy: "Operator", on: "Secret", meaning: "When the key was issued." },
  expirationTime: { setBy: "Operator", on: "Secret", meaning: "When the key expires." },
  revision: {
    setBy: "Operator",
    on: "Secret",
    meaning: "Number of the key among the keys of the ApiKey.",
  },
  previousKeyId: {
    setBy: "Operator",
    on: "Secret",
    meaning: "ID of the previous key, while the Secret has `${previousKeyId}`.",
  },
  restartedAt: {
    setBy: "Operator",
    on: "Pod template",
    meaning:
      "When the operator last [restarted the workload](../consumers.md#let-the-operator-restart-workloads).",
  },
  template: {
    setBy: "Internal",
    on: "Secret",
    meaning: "The entries, with variables in place of the key and never its secret.",
  },
  templateNames: {
    setBy: "Internal",
    on: "Secret",
    meaning: "Names of the labels and annotations that `spec.secret` declares.",
  },
  pairHash: {
    setBy: "Internal",
    on: "Secret",
    meaning: "Short hash that shows whether an edit changed only half of the pair, or its account.",
  },
  account: {
    setBy: "Internal",
    on: "Secret",
    meaning: "The account of the key, as ServiceAccount and `saId`.",
  },
  previousPairHash: {
    setBy: "Internal",
    on: "Secret",
    meaning: "The same for the previous pair.",
  },
  attempt: {
    setBy: "Internal",
    on: "pending Secret",
    meaning: "Attempt that issued the pair in the Secret.",
  },
  intent: {
    setBy: "Internal",
    on: "ApiKey, ServiceAccount",
    meaning: "The last attempt to issue a key or create an account, recorded before the call.",
  },
  deletedIssues: {
    setBy: "Internal",
    on: "Lease",
    meaning: "How many keys were issued for deleted ApiKeys, for the limits of the grants.",
  },
};

/** Of annotations whose names end in the name of an ApiKey. */
export const contentAnnotationHelp: MetadataHelp = {
  setBy: "Operator",
  on: "Pod template",
  meaning:
    "Version of the ApiKey's Secret for which the operator last restarted the workload: a hash without the key's secret.",
};

export const labelHelp: Readonly<Record<keyof typeof labels, MetadataHelp>> = {
  managedBy: {
    setBy: "Operator",
    on: "Secret",
    meaning: "`iam-operator`: the operator writes the Secret.",
  },
  apiKey: {
    setBy: "Operator",
    on: "Secret",
    meaning:
      "Name of the ApiKey, cut to 63 characters. On an existing Secret, you set it to let the ApiKey [adopt the Secret](../troubleshooting.md#secretconflict).",
  },
  role: {
    setBy: "Operator",
    on: "Secret",
    meaning:
      "`target`: the Secret that workloads mount. `pending`: the Secret `NAME-next`, which holds the next pair until it is delivered.",
  },
};
