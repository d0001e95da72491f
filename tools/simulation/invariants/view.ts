/** The stored objects as the invariants read them. */

import { accountIndex } from "../../../src/accounts/key-accounts.ts";
import type { ApiKey } from "../../../src/api/api-key.ts";
import type { Condition } from "../../../src/api/conditions.ts";
import { annotations, labels } from "../../../src/api/meta.ts";
import type { PolicyBinding } from "../../../src/api/policy-binding.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { asRead } from "../../../src/kube/resource.ts";
import type { Secret } from "../../../src/kube/resource-types.ts";
import { secretType } from "../../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { isTree, listAt, type Tree, treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";

/** Stored objects may lack any part of a status. */
export type StoredApiKey = ApiKey & { readonly status?: Partial<NonNullable<ApiKey["status"]>> };

export const apiKeysOf = (world: SimWorld) =>
  (world.list(apiKeyType) as unknown as readonly StoredApiKey[]).map((each) =>
    asRead(apiKeyType, each),
  );
export const bindingsOf = (world: SimWorld) =>
  world.list(policyBindingType) as unknown as readonly PolicyBinding[];
export const accountsOf = (world: SimWorld) =>
  (world.list(serviceAccountType) as unknown as readonly ServiceAccount[]).map((each) =>
    asRead(serviceAccountType, each),
  );
export const secretsOf = (world: SimWorld) =>
  world.list(secretType) as unknown as readonly Secret[];

export const asApiKey = (object: Tree) => asRead(apiKeyType, object as unknown as StoredApiKey);
export const asSecret = (object: Tree) => object as unknown as Secret;

export function conditionsOf(object: Tree): readonly Condition[] {
  const { conditions } = treeAt(object, "status");
  return Array.isArray(conditions) ? (conditions as unknown as readonly Condition[]) : [];
}

export function isOurs({ metadata }: Secret): boolean {
  return metadata.labels?.[labels.apiKey] !== undefined;
}

export function isTarget({ metadata }: Secret): boolean {
  return metadata.labels?.[labels.role] === "target";
}

/** The pair that consumers find, by the default entries. */
export function pairOf({ data = {} }: Secret): { keyId: string; secret: string } | undefined {
  const { keyId, secret } = data;
  if (keyId === undefined || secret === undefined) return undefined;
  return { keyId: text(keyId), secret: text(secret) };
}

/** Every key id that the Secret says it holds. */
export function keyIdsIn(secret: Secret): readonly string[] {
  const noted = secret.metadata.annotations?.[annotations.keyId];
  const shown = secret.data?.keyId;
  return [noted, shown === undefined ? undefined : text(shown)].filter((id) => id !== undefined);
}

export function targetOf(world: SimWorld, apiKey: StoredApiKey): Secret | undefined {
  const name = apiKey.spec.secret?.name ?? apiKey.metadata.name;
  return secretsOf(world).find(
    ({ metadata }) => metadata.name === name && metadata.namespace === apiKey.metadata.namespace,
  );
}

/** The object whose attempt issued a key, by the key's description. */
export function issuerOf(description: string): { key: string; attempt: string } | undefined {
  const found = /k8s ([^\s#]+)#([-\w]+)/.exec(description);
  return found === null ? undefined : { key: found[1] ?? "", attempt: found[2] ?? "" };
}

/** The object that a key at the console was issued for, if it is still there. */
export function issuingObject(world: SimWorld, keyId: string): StoredApiKey | undefined {
  const key = world.console.world.keys.get(keyId);
  const place = key && issuerOf(key.description)?.key;
  return apiKeysOf(world).find((each) => placeOf(each) === place);
}

export function placeOf({ metadata }: { metadata: { namespace?: string; name: string } }): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

function text(base64: string): string {
  return Buffer.from(base64, "base64").toString("utf8");
}

/** Whether the operator has only a login that the console demands a second factor of. */
export function isLockedOut(world: SimWorld): boolean {
  if (![...world.console.world.users.values()].some(({ mfaRequired }) => mfaRequired)) return false;
  return connectionTypes
    .flatMap((type) => world.list(type))
    .some((connection) =>
      listAt(treeAt(connection, "status"), "conditions").some(
        (each) => isTree(each) && each.type === "Ready" && each.reason === "MfaRequired",
      ),
    );
}

const connectionTypes = [connectionType, clusterConnectionType];

/** A list of keys does not say whose a lost key is: any ApiKey of the account may list it. */
export function isPeer(one: StoredApiKey, other: StoredApiKey): boolean {
  const accounts = new Set(accountIndex(one));
  return accountIndex(other).some((account) => accounts.has(account));
}
