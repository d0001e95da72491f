/** Reads of an ApiKey's Secrets: live, or from the watch. */
import type { ApiKeySpec } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import { pendingSecretName } from "../../api/secret-names.ts";
import type { KubeObject, ObjectKey } from "../../kube/resource.ts";
import type { Context } from "../../reconciler/context.ts";
import { apiKeyType, secretType } from "../../resources/resource-types.ts";
import type { ApiKeyReading, HeldPair } from "./rules/snapshot.ts";
import type { KeyStatus } from "./rules/status.ts";
import { type SecretOwner, type SecretRole, secretNameOf } from "./secret/owner.ts";
import type { IssuedPair } from "./secret/pair.ts";
import { pairIn, type SecretView, viewSecret } from "./secret/view.ts";

export async function readSecret(
  { kube, caches }: Pick<ApiKeyReading, "kube" | "caches">,
  owner: SecretOwner,
  spec: ApiKeySpec,
  role: SecretRole,
  signal: AbortSignal,
  knownKeyId?: string,
): Promise<SecretView> {
  const key = secretKeyOf(owner, spec, role);
  const stored = await kube.get(secretType, key, { signal });
  const view = viewSecret(stored, owner, spec, role, knownKeyId);
  const pair = pairIn(view);
  if (view.kind !== "Ours" || pair === undefined || pair.keyId === knownKeyId) return view;
  return isOfAnother(pair, owner, caches) ? { ...view, pair: undefined } : view;
}

/** Whether the status of another ApiKey names the key: its pair was copied, and the other ApiKey revokes it one day. */
function isOfAnother(
  { keyId, saId }: IssuedPair,
  { uid }: SecretOwner,
  caches: ApiKeyReading["caches"],
): boolean {
  return caches
    .of(apiKeyType)
    .list()
    .filter(({ metadata }) => metadata.uid !== uid)
    .flatMap(({ status }) => [status?.current, ...(status?.superseded ?? [])])
    .some((key) => key?.keyId === keyId && (saId === undefined || saId === key.saId));
}

export function secretKeyOf(
  { namespace, name: apiKeyName }: SecretOwner,
  spec: ApiKeySpec,
  role: SecretRole,
): ObjectKey {
  const name = secretNameOf(apiKeyName, spec);
  return { namespace, name: role === "target" ? name : pendingSecretName(name) };
}

export interface KnownOfKey {
  readonly status: KeyStatus;
  readonly held: HeldPair | undefined;
  /** Resource version of the target when its content last matched the declaration. */
  readonly resourceVersion: string | undefined;
}

interface BothSecrets<T> {
  readonly target: T;
  readonly pending: T;
}

/**
 * Views of both Secrets from the watch, if it shows enough to begin with: no pair is pending, and the target is
 * unchanged or never existed. `undefined` if the Secrets must be read.
 */
export function listedSecrets(
  { caches: { secrets } }: Pick<Context, "caches">,
  keys: BothSecrets<ObjectKey>,
  known: KnownOfKey,
): BothSecrets<SecretView> | undefined {
  const { attempt } = known.status;
  if (attempt !== undefined || known.held !== undefined || !secrets.isWatched) return undefined;
  if (!secrets.isCurrent(keys.target) || !secrets.isCurrent(keys.pending)) return undefined;
  if (secrets.get(keys.pending) !== undefined) return undefined;
  const target = listedTarget(secrets.get(keys.target), known);
  return target && { target, pending: UNLISTED };
}

const UNLISTED: SecretView = { kind: "Unlisted" };

function listedTarget(
  listed: KubeObject | undefined,
  { status: { current }, resourceVersion }: KnownOfKey,
): SecretView | undefined {
  if (listed === undefined) return current === undefined ? UNLISTED : undefined;
  if (listed.metadata.resourceVersion !== resourceVersion) return undefined;
  const noted = listed.metadata.annotations ?? {};
  const keyId = noted[annotations.keyId];
  return keyId === undefined || keyId !== current?.keyId
    ? undefined
    : { kind: "Unread", keyId, previousKeyId: noted[annotations.previousKeyId] };
}
