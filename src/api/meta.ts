import type { ObjectMeta } from "../util/object-meta.ts";

/** Names that users and programs see: group, annotations, labels, finalizer, field manager. */
export const GROUP = "iam-operator.io";
export const VERSION = "v1alpha1";
export const API_VERSION = `${GROUP}/${VERSION}`;
/**
 * Category of the namespaced kinds only, so that `kubectl get iam` works without permission to read ClusterConnections.
 */
export const CATEGORY = "iam";

export const FINALIZER = `${GROUP}/finalizer`;
/** In server-side apply, this manager owns everything that the operator writes. */
export const FIELD_MANAGER = "iam-operator";
/** Owns only a ServiceAccount's `status.bindings`, which the policy-binding controller reports. */
export const BINDINGS_FIELD_MANAGER = "iam-operator-bindings";

export const annotations = {
  reconcileRequestedAt: `${GROUP}/reconcile-requested-at`,
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  /** `true`: the operator only plans the object's changes and does not make them. */
  planOnly: `${GROUP}/plan-only`,
  keyId: `${GROUP}/key-id`,
  issueTime: `${GROUP}/issue-time`,
  expirationTime: `${GROUP}/expiration-time`,
  revision: `${GROUP}/revision`,
  /** The Secret's entries as JSON, with variables in place of the secrets, to read the key pair back: never values. */
  template: `${GROUP}/template`,
  /** As JSON, the names of the Secret's labels and annotations from `spec.secret`. */
  templateNames: `${GROUP}/template-names`,
  /** A short hash of keyId and secret, which shows whether an edit changed only one of them. */
  pairHash: `${GROUP}/pair-hash`,
  previousKeyId: `${GROUP}/previous-key-id`,
  previousPairHash: `${GROUP}/previous-pair-hash`,
  /** The attempt whose response a pending Secret stores. */
  attempt: `${GROUP}/attempt`,
  /** On the Lease: keys that were issued for ApiKeys that have since been deleted, for the next leader. */
  deletedIssues: `${GROUP}/deleted-issues`,
  /**
   * On an ApiKey or ServiceAccount: the most recently recorded attempt, as JSON. The status shows whether it is closed.
   */
  intent: `${GROUP}/intent`,
  /** On the Pod template of a workload: when the operator last restarted it. */
  restartedAt: `${GROUP}/restarted-at`,
} as const;

/** The annotations by which a person makes a request of an object. */
export const requestAnnotations: readonly string[] = [
  annotations.reconcileRequestedAt,
  annotations.rotateRequestedAt,
  annotations.planOnly,
];

/** On a Pod template: the version of an ApiKey's Secret for which the operator last restarted the Pods. */
export function contentAnnotation(apiKeyName: string): string {
  return `${CONTENT_ANNOTATIONS}${apiKeyName}`;
}
export const CONTENT_ANNOTATIONS = `content.${GROUP}/`;

/** The value of {@link labels.apiKey}: label values have at most 63 characters, so longer names are cut. */
export function apiKeyLabel(apiKeyName: string): string {
  return apiKeyName.length <= 63 ? apiKeyName : apiKeyName.slice(0, 63).replace(/[^a-z0-9]+$/, "");
}

export const labels = {
  managedBy: "app.kubernetes.io/managed-by",
  apiKey: `${GROUP}/api-key`,
  /** `target` or `staging`. */
  role: `${GROUP}/role`,
} as const;
export const MANAGED_BY = "iam-operator";

/** A stored custom resource; its kind's schema parses `spec` before use. */
export interface IamObject<Spec, Status> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta & { readonly uid: string; readonly resourceVersion: string };
  readonly spec: Spec;
  readonly status?: Status;
}
