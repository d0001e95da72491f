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

/** Their meanings are in metadata-help.ts. */
export const annotations = {
  reconcileRequestedAt: `${GROUP}/reconcile-requested-at`,
  rotateRequestedAt: `${GROUP}/rotate-requested-at`,
  planOnly: `${GROUP}/plan-only`,
  keyId: `${GROUP}/key-id`,
  issueTime: `${GROUP}/issue-time`,
  expirationTime: `${GROUP}/expiration-time`,
  revision: `${GROUP}/revision`,
  /** The Secret's entries as JSON, with variables in place of the secrets, to read the key pair back: never values. */
  template: `${GROUP}/template`,
  /** As JSON. */
  templateNames: `${GROUP}/template-names`,
  pairHash: `${GROUP}/pair-hash`,
  /** ServiceAccount and saId of the key's account, as NAME/SA-ID. The hash of the pair covers it. */
  account: `${GROUP}/account`,
  previousKeyId: `${GROUP}/previous-key-id`,
  previousPairHash: `${GROUP}/previous-pair-hash`,
  attempt: `${GROUP}/attempt`,
  deletedIssues: `${GROUP}/deleted-issues`,
  /** As JSON. The status shows whether the attempt is closed. */
  intent: `${GROUP}/intent`,
  restartedAt: `${GROUP}/restarted-at`,
  replaces: `${GROUP}/replaces`,
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
