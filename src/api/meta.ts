import type { ObjectMeta } from "../util/object-meta.ts";

/** Names that users and other programs see: group, annotations, labels, finalizer, field manager. */
export const GROUP = "iam-operator.io";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;
/** Of the namespaced kinds: `kubectl get iam` works for people who may not read ClusterConnections. */
export const CATEGORY = "iam";

export const FINALIZER = `${GROUP}/finalizer`;
/** Server-side apply: this manager owns everything the operator writes. */
export const FIELD_MANAGER = "iam-operator";
/** Owns only `status.bindings` of a ServiceAccount, which the policy-binding controller reports. */
export const BINDINGS_FIELD_MANAGER = "iam-operator-bindings";

export const annotations = {
  reconcileRequestedAt: `${GROUP}/reconcile-requested-at`,
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  /** `true`: the operator plans for the object, and does nothing. */
  planOnly: `${GROUP}/plan-only`,
  keyId: `${GROUP}/key-id`,
  issueTime: `${GROUP}/issue-time`,
  expirationTime: `${GROUP}/expiration-time`,
  revision: `${GROUP}/revision`,
  /** Entries that the pair can be read back from, as JSON with the secrets left open: never values. */
  template: `${GROUP}/template`,
  /** The names of the labels and annotations that the Secret has from `spec.secret`, as JSON. */
  templateNames: `${GROUP}/template-names`,
  /** A short hash over keyId and secret; tells whether an edit has torn the pair. */
  pairHash: `${GROUP}/pair-hash`,
  previousKeyId: `${GROUP}/previous-key-id`,
  previousPairHash: `${GROUP}/previous-pair-hash`,
  /** The attempt whose answer a staging Secret holds. */
  attempt: `${GROUP}/attempt`,
  /** On the Lease: keys that were issued for ApiKeys which have been deleted since, for the next leader. */
  deletedIssues: `${GROUP}/deleted-issues`,
  /** On an ApiKey or ServiceAccount: the attempt that was recorded last, as JSON. The status tells whether it is closed. */
  intent: `${GROUP}/intent`,
  /** On the Pod template of a workload: when the operator last restarted it. */
  restartedAt: `${GROUP}/restarted-at`,
} as const;

/** On a Pod template: the content of an ApiKey's Secret that its Pods were last restarted for. */
export function contentAnnotation(apiKeyName: string): string {
  return `${CONTENT_ANNOTATIONS}${apiKeyName}`;
}
export const CONTENT_ANNOTATIONS = `content.${GROUP}/`;

export const labels = {
  managedBy: "app.kubernetes.io/managed-by",
  apiKey: `${GROUP}/api-key`,
  /** `target` or `staging`. */
  role: `${GROUP}/role`,
} as const;
export const MANAGED_BY = "iam-operator";

/** Any object of ours as stored; `spec` is parsed by its kind's schema before use. */
export interface IamObject<Spec, Status> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string };
  readonly spec: Spec;
  readonly status?: Status;
}
