import { type Instant, toIso8601 } from "../../../src/util/time.ts";
import type { Shapes } from "../shapes.ts";
import type { AccountRecord, KeyRecord, World } from "../world.ts";

/** The documented fields of a service account, in the chosen shape, with `keys` as given. */
export function accountRecord(
  { accountDescriptions }: Readonly<Shapes>,
  account: AccountRecord,
  keys: unknown,
): object {
  const { saId, tpn, orgId, projectId, name, description, status } = account;
  return {
    ...{ saId, tpn, orgId, projectId, name, status },
    ...(accountDescriptions === "shown" ? { description } : {}),
    ...(keys === undefined ? {} : { keys }),
  };
}

/** `keys` of a service account in the chosen shape; `undefined` where the property is missing. */
export function keyList(world: World, shapes: Readonly<Shapes>, saId: string): unknown {
  const keys = world
    .keysOf(saId)
    .filter((key) => shapes.deadKeys === "listed" || isLive(key, world.clock.now()));
  switch (shapes.keyRecords) {
    case "full":
      return keys.map((key) => fullKey(key, world.clock.now()));
    case "keyIdOnly":
      return keys.map(({ keyId }) => ({ keyId }));
    case "idProperty":
      return keys.map(({ keyId, description }) => ({ id: keyId, description }));
    case "strings":
      return keys.map(({ keyId }) => keyId);
    case "empty":
      return [];
    case "omitted":
      return undefined;
  }
}

/** Everything there is to say about a key, save its secret. */
export function fullKey(key: KeyRecord, now: Instant): object {
  return {
    keyId: key.keyId,
    description: key.description,
    expiresInDays: key.expiresInDays,
    status: key.status === "active" && now >= key.expirationTime ? "expired" : key.status,
    createdAt: toIso8601(key.issueTime),
    expiresAt: toIso8601(key.expirationTime),
  };
}

function isLive(key: KeyRecord, now: Instant): boolean {
  return key.status === "active" && now < key.expirationTime;
}
