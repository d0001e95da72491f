/** [S5] The books balance: the console against what the statuses name. */

import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { listedKeyIds } from "../../../src/kinds/api-key/rules/status.ts";
import { isAttemptOf } from "../../../src/resources/marker.ts";
import { DAY, HOUR, MINUTE, parseInstant } from "../../../src/util/time.ts";
import type { SimWorld } from "../sim-world.ts";
import type { EndCheck } from "./at-rest.ts";
import { accountsOf, apiKeysOf, issuerOf, placeOf } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** The regular list, the time until a key in it is judged, and the way to the status. */
const KEYS_MS = 7 * MINUTE;
/** After trouble, the next login or run may come this much later. */
const PAUSE_MS = 5 * MINUTE;
/** From the last creation to the list of all accounts. */
const AUDIT_MS = 15 * MINUTE;
/** Until the run of one of the connection's accounts that makes the list. */
const RUN_MS = 6 * MINUTE;
/** An open attempt may still come to name a key. */
const ATTEMPT_MS = HOUR;

interface Unnamed {
  readonly id: string;
  readonly what: "key" | "account";
}

/**
 * Every live key of an account of an object, whoever issued it, and every account that was created for an object, if
 * no status names it.
 */
export function unnamedIn(world: SimWorld): readonly Unnamed[] {
  if (world.hasMeddled) return [];
  const accounts = accountsOf(world).filter(isInOrder);
  // A console that shows no keys tells nothing about them.
  const keys = world.console.listsKeys ? unnamedKeys(world, accounts) : [];
  return [...keys, ...unnamedAccounts(world, accounts)];
}

export const keysAccountedFor: EndCheck = ({ world }) => {
  const ids = unnamedIn(world).map(({ id }) => id);
  return ids.length === 0 ? undefined : `no status names ${ids.join(", ")}`;
};

/** Nothing stays unnamed for longer than docs/safety.md says. */
export const keysAccountedInTime: CreateWatcher = (world, circumstances) => {
  const since = new Map<string, number>();
  let lookedAt = 0;
  let createdAt = 0;
  return {
    onCall: ({ operation, sentAt }) => {
      if (operation === "createServiceAccount") createdAt = sentAt;
      return undefined;
    },
    afterEvent: () => {
      const { elapsed } = world.kernel;
      if (elapsed < lookedAt + MINUTE) return undefined;
      lookedAt = elapsed;
      const unnamed = unnamedIn(world);
      const ids = new Set(unnamed.map(({ id }) => id));
      for (const id of since.keys()) if (!ids.has(id)) since.delete(id);
      for (const { id } of unnamed) if (!since.has(id)) since.set(id, elapsed);
      const usableSince = elapsed - circumstances.usableMs;
      const late = unnamed.find(
        ({ id, what }) => elapsed > dueAt(what, since.get(id) ?? elapsed, usableSince, createdAt),
      );
      return late && `no status has named ${late.id} for too long`;
    },
  };
};

function dueAt(what: Unnamed["what"], since: number, usableSince: number, createdAt: number) {
  if (what === "key") return Math.max(since + KEYS_MS, usableSince + KEYS_MS + PAUSE_MS);
  const isInList = Math.max(since, usableSince) < createdAt + AUDIT_MS - MINUTE;
  return isInList
    ? createdAt + AUDIT_MS + RUN_MS
    : Math.max(since, usableSince) + DAY + AUDIT_MS + RUN_MS;
}

/** How long a run has to go on so that all that is unnamed is due. */
export function patienceFor(unnamed: readonly Unnamed[]): number {
  if (unnamed.length === 0) return 0;
  const isOfAccounts = unnamed.some(({ what }) => what === "account");
  return (isOfAccounts ? DAY + AUDIT_MS + RUN_MS : KEYS_MS + PAUSE_MS) + 2 * MINUTE;
}

/** What is said of others is looked at only while the object itself is in order. */
function isInOrder({ metadata, status }: ServiceAccount): boolean {
  return (
    metadata.deletionTimestamp === undefined &&
    status?.saId !== undefined &&
    status.attempt === undefined &&
    status.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true
  );
}

function unnamedKeys(world: SimWorld, accounts: readonly ServiceAccount[]): readonly Unnamed[] {
  const apiKeys = apiKeysOf(world);
  const { now } = world.kernel;
  const named = new Set([
    ...apiKeys.flatMap(({ status }) => [
      ...listedKeyIds(status),
      ...(status?.pending === undefined ? [] : [status.pending.keyId]),
    ]),
    ...accounts.flatMap(({ status }) => status?.unmanagedKeys ?? []).map(({ keyId }) => keyId),
  ]);
  const attempts = apiKeys.flatMap(({ status }) => status?.attempt ?? []);
  const open = attempts.filter(
    ({ startTime }) => now - (parseInstant(startTime) ?? 0) < ATTEMPT_MS,
  );
  const assumed = apiKeys.flatMap(({ status }) => status?.orphaned ?? []);
  const explained = new Set([
    ...open.map(({ id }) => id),
    ...assumed.filter(({ keyId }) => keyId === undefined).map(({ attemptId }) => attemptId),
  ]);
  const saIds = new Set(accounts.map(({ status }) => status?.saId));
  return [...world.console.world.keys.values()]
    .filter(
      ({ saId, keyId, status, expirationTime, description }) =>
        saIds.has(saId) &&
        status === "active" &&
        now < expirationTime &&
        !named.has(keyId) &&
        !explained.has(issuerOf(description)?.attempt ?? ""),
    )
    .map(({ keyId }) => ({ id: keyId, what: "key" }));
}

function unnamedAccounts(world: SimWorld, accounts: readonly ServiceAccount[]) {
  const named = new Set(
    accountsOf(world).flatMap(({ status }) => [
      status?.saId,
      ...(status?.orphanedAccounts ?? []).map(({ saId }) => saId),
    ]),
  );
  return [...world.console.world.accounts.values()]
    .filter(({ saId, description }) => {
      const issuer = issuerOf(description);
      return (
        !named.has(saId) &&
        accounts.some(
          (each) => placeOf(each) === issuer?.key && isAttemptOf(each.metadata.uid, issuer.attempt),
        )
      );
    })
    .map(({ saId }): Unnamed => ({ id: saId, what: "account" }));
}
