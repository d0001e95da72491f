/**
 * Labels and annotations that make other controllers act on a Secret: they require the connection's permission. Pure.
 */
import type { ApiKeySpec } from "../../../api/api-key.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import type { ApiKeySnapshot, ReadyAccount } from "./snapshot.ts";

/**
 * Domains of controllers that copy Secrets elsewhere, use their content as configuration or credentials, or write to
 * them.
 */
const RESERVED = [
  "argoproj.io",
  "banzaicloud.io",
  "cattle.io",
  "cert-manager.io",
  "cluster.x-k8s.io",
  "clustersecret.io",
  "emberstack.com",
  "external-secrets.io",
  "fluxcd.io",
  "helm.sh",
  "kubed.appscode.com",
  "mittwald.de",
  "open-cluster-management.io",
  "sealedsecrets.bitnami.com",
];

type Entries = Readonly<Record<string, string>>;

/**
 * The spec without the metadata that one of the accounts' connections does not allow, and the names that were removed.
 */
export function withoutReserved(
  spec: ApiKeySpec,
  accounts: readonly Pick<ReadyAccount, "allowedSecretMetadata">[],
): { readonly spec: ApiKeySpec; readonly reservedMetadata: readonly string[] } {
  const { labels, annotations } = spec.secret;
  const isRefused = (key: string) =>
    isReserved(key) &&
    accounts.some(({ allowedSecretMetadata }) => !isAllowed(key, allowedSecretMetadata));
  const reservedMetadata = Object.keys({ ...labels, ...annotations }).filter(isRefused);
  const keep = (entries: Entries | undefined) =>
    entries && Object.fromEntries(Object.entries(entries).filter(([key]) => !isRefused(key)));
  const secret = { ...spec.secret, labels: keep(labels), annotations: keep(annotations) };
  return { spec: { ...spec, secret }, reservedMetadata };
}

function isReserved(key: string): boolean {
  const domain = domainOf(key);
  return RESERVED.some((reserved) => domain === reserved || domain.endsWith(`.${reserved}`));
}

function isAllowed(key: string, allowed: readonly string[]): boolean {
  return allowed.includes("*") || allowed.includes(key) || allowed.includes(domainOf(key));
}

function domainOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf("/"))).toLowerCase();
}

/**
 * A first key waits for a decision of the user or the administrator. A key in use is rotated anyway, without the
 * metadata.
 */
export function reservedMetadataBlocks(snapshot: ApiKeySnapshot): Waiting | undefined {
  return snapshot.status.current === undefined ? reportReservedMetadata(snapshot) : undefined;
}

/** Reports the removed metadata; for a key in use, once there is nothing else to do. */
export function reportReservedMetadata({
  reservedMetadata = [],
}: ApiKeySnapshot): Waiting | undefined {
  if (reservedMetadata.length === 0) return undefined;
  const named = reservedMetadata.slice(0, 3).join(", ");
  const more = reservedMetadata.length > 3 ? ` and ${reservedMetadata.length - 3} others` : "";
  return {
    kind: "Waiting",
    state: "Stalled",
    reason: "MetadataNotAllowed",
    message: `Other controllers act on Secrets with ${named}${more}, and the connection does not allow that. Remove ${named}${more} from spec.secret.labels and spec.secret.annotations, or ask the connection's administrator to add ${reservedMetadata.length === 1 ? "the key" : "the keys"} to allowedSecretMetadata.`,
  };
}
