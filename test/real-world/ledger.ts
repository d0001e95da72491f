/** What became of every key: the console's books against what the ApiKeys and their Secrets say. */
import type { ApiKey } from "../../src/api/api-key.ts";
import { isTrue } from "../../src/api/conditions.ts";
import type { ServiceAccount } from "../../src/api/service-account.ts";
import { apiKeyType, secretType, serviceAccountType } from "../../src/resources/resource-types.ts";
import type { IamServer } from "../../tools/iam-server/server.ts";
import { textOf } from "./objects.ts";
import type { World } from "./world.ts";

export interface Stock {
  readonly objects: number;
  readonly ready: number;
  /** Keys that the console has issued. */
  readonly issued: number;
  /** Issued keys, and created accounts, that no status lists. Must be empty. */
  readonly unaccounted: readonly string[];
  /** Objects that are not where they should be, and why. Must be empty at the end. */
  readonly stuck: readonly string[];
  /** Issued keys beyond those in use and those that a rotation has superseded. */
  readonly surplus: number;
  /** Keys that the objects report as lost. */
  readonly orphaned: number;
  /** Keys reported as lost that the console never issued or that somebody uses. Must be empty. */
  readonly falseOrphans: readonly string[];
  /** Attempts with more than one key. Must be empty. */
  readonly doubled: readonly string[];
  readonly keyIdsOf: ReadonlyMap<string, KeysOf>;
}

interface KeysOf {
  readonly current: string | undefined;
  readonly superseded: readonly string[];
  readonly orphaned: readonly string[];
}

export async function takeStock({ kube, iam, namespace }: World): Promise<Stock> {
  const objects = await kube.list(apiKeyType, { namespace });
  const accounts = await kube.list(serviceAccountType, { namespace });
  const secrets = await kube.list(secretType, { namespace });
  const secretsByName = new Map(secrets.map((secret) => [secret.metadata.name, secret.data ?? {}]));
  const keyIdsOf = new Map(objects.map((object) => [object.metadata.name, keysOf(object)]));
  const uses = [...keyIdsOf.values()];
  const inUse = new Set(uses.flatMap(({ current, superseded }) => [current, ...superseded]));
  const lost = uses.flatMap(({ orphaned }) => orphaned);
  const issued = [...iam.world.keys.values()];
  const unmanaged = accounts.flatMap(({ status }) => idsIn(status, "unmanagedKeys"));
  const reported = new Set([...lost, ...unmanaged]);
  const attempts = issued.map(({ description }) => /#([^)\s]+)/.exec(description)?.[1] ?? "?");
  return {
    objects: objects.length,
    ready: objects.filter(({ status }) => isTrue(status?.conditions, "Ready")).length,
    issued: issued.length,
    unaccounted: [
      ...issued
        .map(({ keyId }) => keyId)
        .filter((keyId) => !inUse.has(keyId) && !reported.has(keyId)),
      ...unnamedAccounts(iam, accounts),
    ],
    stuck: objects.flatMap((object) => {
      const why = whyStuck(object, secretsByName, iam);
      return why === undefined ? [] : [`${object.metadata.name}: ${why}`];
    }),
    surplus: issued.filter(({ keyId }) => !inUse.has(keyId)).length,
    orphaned: lost.length,
    falseOrphans: lost.filter((keyId) => !iam.world.keys.has(keyId) || inUse.has(keyId)),
    doubled: attempts.filter((attempt, index) => attempts.indexOf(attempt) !== index),
    keyIdsOf,
  };
}

/** Ids of the entries of a list in a status. */
function idsIn(status: object | undefined, list: string): readonly string[] {
  const entries = (status as Readonly<Record<string, unknown>> | undefined)?.[list];
  return (Array.isArray(entries) ? entries : []).flatMap(
    ({ keyId, saId }: { keyId?: string; saId?: string }) => keyId ?? saId ?? [],
  );
}

function unnamedAccounts(
  { world }: IamServer,
  objects: readonly ServiceAccount[],
): readonly string[] {
  const named = new Set(
    objects.flatMap(({ status }) => [status?.saId, ...idsIn(status, "orphanedAccounts")]),
  );
  return [...world.accounts.keys()].filter((saId) => !named.has(saId));
}

/** Whether no key is left unaccounted for, no object stuck and nothing reported that is not so. */
export function isInOrder(stock: Stock): boolean {
  const { unaccounted, stuck, falseOrphans, doubled } = stock;
  return [unaccounted, stuck, falseOrphans, doubled].every((list) => list.length === 0);
}

function keysOf({ status }: ApiKey): KeysOf {
  return {
    current: status?.current?.keyId,
    superseded: (status?.superseded ?? []).map(({ keyId }) => keyId),
    orphaned: (status?.orphaned ?? []).map(({ keyId }) => keyId ?? "unknown"),
  };
}

function whyStuck(
  { metadata: { name, generation }, status }: ApiKey,
  secrets: ReadonlyMap<string, Readonly<Record<string, string>>>,
  { world }: IamServer,
): string | undefined {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return `not ready: ${ready?.reason} ${ready?.message ?? ""}`;
  if (status?.observedGeneration !== generation) return "an old generation";
  if (status?.attempt !== undefined) return `attempt ${status.attempt.id} is open`;
  if (secrets.has(`${name}-next`)) return "its pending Secret is left";
  const data = secrets.get(name);
  const [keyId, secret] = [textOf(data?.keyId), textOf(data?.secret)];
  if (keyId !== status?.current?.keyId) return "Secret and status name different keys";
  if (!world.isPair(keyId, secret)) return "the Secret holds no pair";
  return world.whyKeyIsRefused(keyId);
}
