/** What cannot be restored from a backup. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { ownEntry } from "../../util/own-entry.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { keyLines, liveKeysOf, missingAccounts } from "../cluster/live-keys.ts";
import { objectsOf, type World } from "../cluster/read.ts";
import { chainOf, refsOf } from "../cluster/relations.ts";
import { secretNamesOf } from "./key-secrets.ts";
import { saIdOf, titleOf } from "./manifest.ts";

/** One sentence for each gap. Without `pairs`, the Secrets are left out on request. */
export function gapsOf(world: World, pairs: readonly FileObject[] | undefined): readonly string[] {
  const objects = objectsOf(world) as readonly (AnyObject & FileObject)[];
  return [
    ...objects
      .filter(isBeingDeleted)
      .map((object) => `${titleOf(object)} is being deleted: left out.`),
    ...objects.filter((object) => lacksConnection(object, world)).map(withoutConnection),
    ...world.serviceAccounts.filter((account) => saIdOf(account) === undefined).map(withoutAccount),
    ...(pairs === undefined ? [] : world.apiKeys.flatMap((key) => gapsOfKey(key, pairs))),
  ];
}

function lacksConnection(object: AnyObject, world: World): boolean {
  const { connectionRef } = refsOf(object);
  return connectionRef !== undefined && chainOf(object, world).connection === undefined;
}

function withoutConnection(object: FileObject): string {
  const { kind = "", name = "" } = refsOf(object).connectionRef ?? {};
  return `${titleOf(object)} uses ${kind} ${name}, which cannot be read and is not in the backup.`;
}

function withoutAccount(account: ServiceAccount): string {
  const open =
    account.status?.attempt === undefined
      ? ""
      : " The call that creates it is open, so the account may exist.";
  return `${titleOf(account)} names no account, so restore does not create this object.${open}`;
}

function gapsOfKey(key: ApiKey, pairs: readonly FileObject[]): readonly string[] {
  const [target, pending] = secretNamesOf(key).map((name) =>
    pairs.find(
      ({ metadata }) => metadata.namespace === key.metadata.namespace && metadata.name === name,
    ),
  );
  const { attempt } = key.status ?? {};
  const isStored =
    attempt !== undefined &&
    ownEntry(pending?.metadata.annotations, annotations.attempt) === attempt.id;
  return [
    ...(target === undefined && pending === undefined
      ? [`${withoutPair(key)}, so restore does not create this object.`]
      : []),
    ...(attempt === undefined || isStored
      ? []
      : [
          `${titleOf(key)}: attempt ${attempt.id} to issue a key is open. If it issued a key, the backup does not hold it. Back up again when the attempt is closed.`,
        ]),
  ];
}

/** A status without a report may have been lost, with the key's ID. */
function withoutPair(key: ApiKey): string {
  const { observedGeneration, current, pending } = key.status ?? {};
  const hasKey = observedGeneration === undefined || (current ?? pending) !== undefined;
  return hasKey
    ? `${titleOf(key)}: Secret ${secretNamesOf(key)[0]} does not hold its key`
    : `${titleOf(key)} does not have a key yet`;
}

/** Statuses list superseded and orphaned keys, and a restore has only Secrets. */
export function forgottenKeys(world: World): readonly string[] {
  const { apiKeys } = world;
  const unlisted = missingAccounts(world).flatMap((account) =>
    liveKeysOf(account, apiKeys.filter(isIn(account))).filter(
      ({ keyId }) => !apiKeys.some(({ status }) => status?.current?.keyId === keyId),
    ),
  );
  const count = apiKeys.flatMap(({ status }) => [
    ...(status?.superseded ?? []).filter(({ state }) => state !== "Deleted" && state !== "Expired"),
    ...(status?.orphaned ?? []),
  ]).length;
  return count === 0
    ? []
    : [
        `Superseded and orphaned keys: ${count}. A restored ApiKey does not list them; kubectl iam orphans does, as unmanaged keys, while they are valid.`,
        ...(unlisted.length === 0
          ? []
          : [
              `Keys whose ServiceAccount does not exist, which kubectl iam orphans does not list, and which are to be revoked in the console: ${keyLines(unlisted).join(", ")}.`,
            ]),
      ];
}

function isIn({ metadata: { namespace = "" } }: ServiceAccount): (key: ApiKey) => boolean {
  return (key) => (key.metadata.namespace ?? "") === namespace;
}
