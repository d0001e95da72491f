/**
 * `adopt-secret`: sets both consents by which an ApiKey adopts a Secret: the Secret's label and
 * `spec.secret.onExisting`.
 */

import type { ApiKey } from "../../api/api-key.ts";
import { apiKeyLabel, labels } from "../../api/meta.ts";
import { targetSecretName } from "../../api/secret-names.ts";
import { OPAQUE } from "../../api/secret-types.ts";
import { isCreatedEarlier } from "../../kube/resource.ts";
import { type Secret, secretType } from "../../kube/resource-types.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { Failure } from "../cli/errors.ts";
import { changeOf, makeChanges } from "../cluster/change.ts";
import { type Cluster, notFound, openCluster } from "../cluster/cluster.ts";
import { nameOf, parseNameOf } from "../cluster/kinds.ts";
import { readObject, readWorld } from "../cluster/read.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  const { name } = parseNameOf("ApiKey", args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const { namespace } = cluster;
  const apiKey = await readObject(cluster, "ApiKey", name);
  const secretName = targetSecretName(apiKey);
  const secret = await cluster.kube.get(secretType, { namespace, name: secretName });
  if (secret === undefined) throw notFound(`secret/${secretName}`, namespace);
  const owner = secret.metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner !== undefined && owner.uid !== apiKey.metadata.uid)
    throw new Failure(
      `secret/${secretName} belongs to ${owner.kind} ${owner.name}, which would write it again.`,
    );
  if (owner !== undefined && secret.metadata.labels?.[labels.apiKey] === apiKeyLabel(name)) {
    io.print(`secret/${secretName} belongs to iamkey/${name} already.`);
    return;
  }
  requireAdoptable(apiKey, secret);
  await requireFirstClaim(cluster, apiKey, secretName);
  const entries = Object.keys(secret.data ?? {}).join(", ") || "no entries";
  await confirm(
    invocation,
    `secret/${secretName} holds ${entries}; they are replaced. Let iamkey/${name} take it over?`,
  );
  await makeChanges(invocation, cluster, [
    {
      type: secretType,
      resource: "secret",
      label: `secret/${secretName}`,
      namespace,
      name: secretName,
      patch: { metadata: { labels: { [labels.apiKey]: apiKeyLabel(name) } } },
      done: "labelled",
    },
    changeOf(apiKey, { spec: { secret: { onExisting: "Adopt" } } }, "may adopt it"),
  ]);
}

/** The API server lets no one change the type of a Secret, or the content of an immutable Secret. */
function requireAdoptable({ spec }: ApiKey, { metadata, type, immutable }: Secret): void {
  const { type: wanted = OPAQUE } = spec.secret ?? {};
  const again = "or delete it if nothing uses it";
  if (type !== wanted)
    throw new Failure(
      `secret/${metadata.name} has type ${type}, and the ApiKey writes a Secret of type ${wanted}: create the ApiKey again with another spec.secret.name, ${again}.`,
    );
  if (immutable === true)
    throw new Failure(
      `secret/${metadata.name} is immutable, so no key can be written to it: create the ApiKey again with another spec.secret.name, ${again}.`,
    );
}

/** Of several ApiKeys that name one Secret, only the oldest can have it. */
async function requireFirstClaim(
  cluster: Cluster,
  apiKey: ApiKey,
  secretName: string,
): Promise<void> {
  const { world } = await readWorld(cluster, cluster.namespace, { kinds: ["ApiKey"] });
  const first = world.apiKeys.find(
    (other) => targetSecretName(other) === secretName && isCreatedEarlier(other, apiKey),
  );
  if (first !== undefined)
    throw new Failure(
      `secret/${secretName} belongs to ${nameOf(first)}, which names it too and is older: create the ApiKey ${apiKey.metadata.name} again with another spec.secret.name.`,
    );
}
