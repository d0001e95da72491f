/** The Secrets that ApiKeys name, and that do not exist. */
import type { ApiKey } from "../../api/api-key.ts";
import { labels, MANAGED_BY } from "../../api/meta.ts";
import { keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { secretType } from "../../kube/resource-types.ts";
import type { Cluster } from "./cluster.ts";
import { unlessForbidden } from "./read.ts";
import { readAll } from "./read-all.ts";

/**
 * `namespace/name` of each Secret that a read has shown not to exist. A Secret that cannot be read for lack of permission
 * counts as existing. `namespace`: of the ApiKeys, if they are of one. Rejects with KubeError.
 */
export async function missingSecrets(
  cluster: Cluster,
  namespace: string | undefined,
  apiKeys: readonly ApiKey[],
): Promise<ReadonlySet<string>> {
  const named = new Map(apiKeys.flatMap(secretOf).map((key) => [keyText(key), key]));
  if (named.size === 0) return new Set();
  const labelSelector = `${labels.managedBy}=${MANAGED_BY}`;
  const listing = cluster.kube.collect(secretType, (secret) => keyText(keyOf(secret)), {
    namespace,
    labelSelector,
    metadataOnly: true,
  });
  for (const found of (await unlessForbidden(listing)) ?? []) named.delete(found);
  // A Secret without the label can exist.
  const missing = await readAll([...named], async ([text, key]) =>
    (await isMissing(cluster, key)) ? [text] : [],
  );
  return new Set(missing.flat());
}

/** The same of one Secret. */
export async function isMissing({ kube }: Cluster, key: ObjectKey): Promise<boolean> {
  const reading = kube.get(secretType, key).then((secret) => secret === undefined);
  return (await unlessForbidden(reading)) ?? false;
}

/** The Secret that the status names. */
export function secretOf({ metadata, status }: ApiKey): readonly ObjectKey[] {
  const { namespace = "" } = metadata;
  return status?.secretName === undefined ? [] : [{ namespace, name: status.secretName }];
}

/** Whether the Secret that the status names is one of these. */
export function lacksSecret(apiKey: ApiKey, missing: ReadonlySet<string>): boolean {
  return secretOf(apiKey).some((key) => missing.has(keyText(key)));
}
