/** The Secrets of an ApiKey: with the pair that consumers read, and with a pending pair. Pure. */
import { annotations, apiKeyLabel, labels } from "../../api/meta.ts";
import { pendingSecretName, targetSecretName } from "../../api/secret-names.ts";
import type { KubeObject } from "../../kube/resource.ts";

export function secretNamesOf(
  apiKey: Parameters<typeof targetSecretName>[0],
): readonly [string, string] {
  const name = targetSecretName(apiKey);
  return [name, pendingSecretName(name)];
}

/** The ID of the key that the operator wrote into the Secret for the ApiKey of this name. */
export function keyIdIn(secret: KubeObject | undefined, apiKey: string): string | undefined {
  const { labels: own, annotations: notes } = secret?.metadata ?? {};
  return own?.[labels.apiKey] === apiKeyLabel(apiKey) ? notes?.[annotations.keyId] : undefined;
}
