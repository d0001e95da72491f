/** The Secrets of an ApiKey: with the pair that consumers read, and with a pending pair. Pure. */
import { annotations, apiKeyLabel, labels } from "../../api/meta.ts";
import type { KubeObject } from "../../kube/resource.ts";

/** An ApiKey, stored or in a file. */
type KeyObject = Pick<KubeObject, "metadata"> & {
  readonly spec?: { readonly secret?: { readonly name?: string | undefined } | undefined };
};

export function secretNamesOf({ metadata, spec }: KeyObject): readonly [string, string] {
  const name = spec?.secret?.name ?? metadata.name;
  return [name, `${name}-next`];
}

/** The ID of the key that the operator wrote into the Secret for the ApiKey of this name. */
export function keyIdIn(secret: KubeObject | undefined, apiKey: string): string | undefined {
  const { labels: own, annotations: notes } = secret?.metadata ?? {};
  return own?.[labels.apiKey] === apiKeyLabel(apiKey) ? notes?.[annotations.keyId] : undefined;
}
