/** Compares a backup with a cluster: what to create, and what speaks against it. Changes nothing. */
import type { ApiKey } from "../../api/api-key.ts";
import { annotations, labels } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { type KubeObject, keyOf, keyText } from "../../kube/resource.ts";
import { secretType } from "../../kube/resource-types.ts";
import type { Cluster } from "../cluster/cluster.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { typeOf } from "../cluster/kinds.ts";
import { unlessForbidden } from "../cluster/read.ts";
import { readAll } from "../cluster/read-all.ts";
import { refsOf } from "../cluster/relations.ts";
import { keyIdIn, secretNamesOf } from "./key-secrets.ts";
import { saIdOf, titleOf, typeOfManifest } from "./manifest.ts";

type Verdict =
  | { readonly kind: "Create" | "Exists" }
  /** `LeaveOut`: it would create an account or issue a key. `Refuse`: the cluster holds something else. */
  | { readonly kind: "LeaveOut" | "Refuse"; readonly why: string };

export type Step = Verdict & {
  readonly object: FileObject;
  /** Of an ApiKey: the keys in its Secrets. */
  readonly keyIds: readonly string[];
};

interface Facts {
  /** The Secrets of the backup. */
  readonly secrets: ReadonlyMap<string, FileObject>;
  /** The keys in the Secrets of the cluster. */
  readonly keyIdsInSecrets: ReadonlySet<string>;
  /** The ServiceAccounts of the cluster, as far as the user can list them. */
  readonly accounts: readonly ServiceAccount[];
  readonly leftOut: Set<string>;
}

/** Rejects with KubeError. */
export async function planRestore(
  cluster: Cluster,
  objects: readonly FileObject[],
): Promise<readonly Step[]> {
  const { kube } = cluster;
  const stored = await readAll(objects, (object) =>
    kube.get(typeOfManifest(object) ?? secretType, keyOf(object)),
  );
  const secrets = new Map(
    objects
      .filter(({ kind }) => kind === "Secret")
      .map((secret) => [keyText(keyOf(secret)), secret]),
  );
  const accounts = (await unlessForbidden(kube.list(typeOf("ServiceAccount")))) ?? [];
  const keyIdsInSecrets = new Set(
    stored.flatMap((object) => object?.metadata.annotations?.[annotations.keyId] ?? []),
  );
  const facts = { secrets, keyIdsInSecrets, accounts, leftOut: new Set<string>() };
  const keyIds = await readAll(objects, (object) => keyIdsOf(cluster, object, secrets));
  return objects.map((object, index) => {
    const ids = keyIds[index] ?? [];
    const verdict = judge(object, stored[index], ids, facts);
    if (verdict.kind === "LeaveOut") facts.leftOut.add(titleOf(object));
    return { ...verdict, object, keyIds: ids };
  });
}

/** The keys in the Secrets of an ApiKey: those of the backup, otherwise those of the cluster. */
async function keyIdsOf(
  { kube }: Cluster,
  object: FileObject,
  given: Facts["secrets"],
): Promise<readonly string[]> {
  if (object.kind !== "ApiKey") return [];
  const { namespace } = keyOf(object);
  const secrets = await Promise.all(
    secretNamesOf(object as never).map((name) => {
      const key = { namespace, name };
      return given.get(keyText(key)) ?? kube.get(secretType, key);
    }),
  );
  return secrets.flatMap((secret) => keyIdIn(secret, object.metadata.name) ?? []);
}

function judge(
  object: FileObject,
  stored: KubeObject | undefined,
  keyIds: readonly string[],
  facts: Facts,
): Verdict {
  if (stored?.metadata.deletionTimestamp !== undefined)
    return refuse("is being deleted: wait until it is gone");
  const finding =
    object.kind === "Secret"
      ? judgeSecret(object, stored, facts)
      : object.kind === "ServiceAccount"
        ? judgeAccount(object, stored, facts)
        : object.kind === "ApiKey"
          ? judgeKey(stored as ApiKey | undefined, keyIds)
          : undefined;
  return (
    finding ?? judgeUser(object, facts) ?? { kind: stored === undefined ? "Create" : "Exists" }
  );
}

function judgeSecret(
  secret: FileObject,
  stored: KubeObject | undefined,
  { secrets, keyIdsInSecrets }: Facts,
): Verdict | undefined {
  const apiKey = secret.metadata.labels?.[labels.apiKey];
  if (apiKey === undefined) return undefined;
  // A pending pair may have been delivered since: the ApiKey's Secret then holds the other key of the backup.
  if (stored === undefined)
    return keyIdsInSecrets.has(keyIdIn(secret, apiKey) ?? "") ? { kind: "Exists" } : undefined;
  const { namespace } = secret.metadata;
  const own = [...secrets.values()].filter(({ metadata }) => metadata.namespace === namespace);
  const ids = own.flatMap((each) => keyIdIn(each, apiKey) ?? []);
  const keyId = keyIdIn(stored, apiKey);
  if (keyId !== undefined && ids.includes(keyId)) return undefined;
  const what = keyId === undefined ? "something else" : `key ${keyId}`;
  return refuse(`holds ${what}, not key ${ids.join(" or ")}`);
}

function judgeAccount(
  account: FileObject,
  stored: KubeObject | undefined,
  { accounts }: Facts,
): Verdict | undefined {
  const saId = saIdOf(account);
  if (stored !== undefined) {
    const present = saIdOf(stored);
    if (present === saId) return undefined;
    return refuse(
      present === undefined
        ? `exists without account ${saId}, which cannot be added: delete the object first`
        : `has account ${present}, ${otherThan(saId)}`,
    );
  }
  if (saId === undefined) return { kind: "LeaveOut", why: "the operator would create an account" };
  const other = accounts.find((each) => saIdOf(each) === saId);
  return other && refuse(`would share account ${saId} with ${titleOf(other)}`);
}

function otherThan(saId: string | undefined): string {
  return saId === undefined
    ? "and the file names no account: restore is for the files of kubectl iam backup, which have spec.saId"
    : `not ${saId}`;
}

function judgeKey(stored: ApiKey | undefined, keyIds: readonly string[]): Verdict | undefined {
  const inUse = stored?.status?.current?.keyId;
  if (inUse !== undefined && keyIds.length > 0 && !keyIds.includes(inUse))
    return refuse(
      `has key ${inUse}, not ${keyIds.join(" or ")}: a key was issued after the backup`,
    );
  if (stored !== undefined || keyIds.length > 0) return undefined;
  const why =
    "neither the file nor the cluster holds its Secret, and the operator would issue a key";
  return { kind: "LeaveOut", why };
}

/** An object whose account is left out would wait for it. */
function judgeUser(object: FileObject, { leftOut }: Facts): Verdict | undefined {
  const { name } = refsOf(object).serviceAccountRef ?? {};
  if (name === undefined) return undefined;
  const { namespace } = keyOf(object);
  const account = titleOf({ ...object, kind: "ServiceAccount", metadata: { name, namespace } });
  return leftOut.has(account) ? { kind: "LeaveOut", why: `${account} is left out` } : undefined;
}

function refuse(why: string): Verdict {
  return { kind: "Refuse", why };
}
