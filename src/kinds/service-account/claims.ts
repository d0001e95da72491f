/** Objects that name an account, read from the caches. */

import { importsOther } from "../../accounts/ownership.ts";
import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import { type ConnectionRef, connectionRef } from "../../api/fields.ts";
import { type ParsedSpec, parseSpec } from "../../api/parse-spec.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { connectionKey, parseConnectionKey } from "../../connections/connection-key.ts";
import { originOf } from "../../connections/connection-origin.ts";
import { isCreatedEarlier } from "../../kube/resource.ts";
import type { Caches, Connections } from "../../reconciler/context.ts";
import { indexes } from "../../resources/indexes.ts";
import {
  clusterConnectionType,
  connectionType,
  serviceAccountType,
} from "../../resources/resource-types.ts";
import { isClaimOn, isSameScope, outranks } from "./rules/owner.ts";
import type { Claim, ConsoleScope } from "./rules/snapshot.ts";

interface ClaimReader {
  readonly caches: Caches;
  readonly connections: Connections;
}

/** The index `saId`: objects that name an account and, under a separate value, objects that have it. */
export function saIdIndex(object: ServiceAccount): readonly string[] {
  const saId = storedId(object);
  if (saId !== undefined) return [saId, inStatus(saId)];
  return object.spec?.saId === undefined ? [] : [object.spec.saId];
}

/** The account in the status. If the object imports one, an edited status cannot give it another. */
function storedId(object: ServiceAccount): string | undefined {
  return importsOther(object) ? undefined : object.status?.saId;
}

/** The value of the index for objects that have the account. */
export function inStatus(saId: string): string {
  return `status/${saId}`;
}

/** The connection that a stored object names, with defaults. */
export function refOf(object: ServiceAccount): ConnectionRef {
  const parsed = connectionRef.safeParse(object.spec?.connectionRef);
  return parsed.success ? parsed.data : connectionRef.parse(undefined);
}

/**
 * The claims of other objects on these accounts, by saId: claims on the same console, up to the first object that has
 * the account. Thousands of objects may name one account, and each of them reads the claims. Makes no call.
 */
export async function readOtherClaims(
  saIds: readonly string[],
  self: ServiceAccount,
  reader: ClaimReader,
): Promise<ReadonlyMap<string, readonly Claim[]>> {
  if (saIds.length === 0) return new Map();
  const own = await readClaim(self, reader);
  const found = saIds.map(async (saId) => [saId, await readRivals(saId, own, reader)] as const);
  return new Map(await Promise.all(found));
}

async function readRivals(
  saId: string,
  own: Claim,
  reader: ClaimReader,
): Promise<readonly Claim[]> {
  const isOwner = (claim: Claim) => isClaimOn(saId, own.scope, claim) && outranks(claim, own);
  const rivals = rivalsOf(saId, own, reader.caches);
  const read: Claim[] = [];
  // Several connections may still wait for their first check, so each round waits for twice as many claims together.
  for (let size = 1; ; size *= 2) {
    const next = await Promise.all(taken(rivals, size).map((claim) => withRights(claim, reader)));
    read.push(...next);
    if (next.length < size || next.some(isOwner)) return read;
  }
}

/**
 * The first other claim on the same console, and all claims that would outrank `own` if they count. Objects that have
 * the account come first.
 */
function* rivalsOf(saId: string, own: Claim, caches: Stores): Generator<StoredClaim> {
  const scopes = new Map<string, ConsoleScope | undefined>();
  let isFirst = true;
  for (const value of [inStatus(saId), saId]) {
    for (const object of caches.of(serviceAccountType).byIndex(indexes.saId, value)) {
      const isSeen = value === saId && object.status?.saId === saId;
      if (isSeen || isSelf(object, own) || !(isFirst || mayOutrank(object, saId, own))) continue;
      const claim = readStored(object, caches, scopes);
      if (!isSameScope(claim.scope, own.scope) || !(isFirst || outranks(claim, own))) continue;
      isFirst = false;
      yield claim;
    }
  }
}

function isSelf({ metadata }: ServiceAccount, own: Claim): boolean {
  return metadata.uid === own.object.metadata.uid;
}

/** A cheap check, because most of thousands of objects cannot outrank `own`. */
function mayOutrank(object: ServiceAccount, saId: string, own: Claim): boolean {
  if (object.status?.saId === saId) return true;
  return !own.isProven && (!own.isOfCluster || isCreatedEarlier(object, own.object));
}

function taken<T>(from: Iterator<T>, count: number): readonly T[] {
  const taken: T[] = [];
  while (taken.length < count) {
    const { done, value } = from.next();
    if (done === true) break;
    taken.push(value);
  }
  return taken;
}

type Stores = Pick<Caches, "of">;
type StoredClaim = Omit<Claim, "isUsable" | "mayImport">;

/** The object's claim, with the console and organization of its stored connection. */
export async function readClaim(object: ServiceAccount, reader: ClaimReader): Promise<Claim> {
  return withRights(readStored(object, reader.caches), reader);
}

async function withRights(claim: StoredClaim, { connections }: ClaimReader): Promise<Claim> {
  const { namespace = "" } = claim.object.metadata;
  const lookup = await connections.resolve(refOf(claim.object), namespace);
  return {
    ...claim,
    isUsable: lookup.ok,
    mayImport: lookup.ok && lookup.access.grant.importServiceAccounts,
  };
}

/** `scopes` caches the scopes of connections that were already read. */
function readStored(
  object: ServiceAccount,
  caches: Stores,
  scopes = new Map<string, ConsoleScope | undefined>(),
): StoredClaim {
  const { spec, status, metadata } = object;
  const key = connectionKey(spec?.connectionRef, metadata.namespace ?? "");
  if (!scopes.has(key)) scopes.set(key, connectionScope(key, caches));
  const found = scopes.get(key);
  // An edited status must not hide the claim, nor a connection that has changed its organization since.
  const orgIds = [spec?.orgId, status?.orgId].filter((orgId) => orgId !== undefined);
  const isLost = status?.ownership === "Claimed" || status?.ownership === "NotOwned";
  return {
    object,
    scope: found && { ...found, orgIds: [...found.orgIds, ...orgIds] },
    isProven: storedId(object) !== undefined && !isLost && status?.consoleURL === found?.origin,
    isOfCluster: parseConnectionKey(key).kind === "ClusterConnection",
  };
}

function connectionScope(text: string, caches: Stores): ConsoleScope | undefined {
  const { kind, key } = parseConnectionKey(text);
  const parsed: ParsedSpec<ConnectionSpec> =
    kind === "Connection"
      ? parseSpec(connectionKind, caches.of(connectionType).get(key) ?? {})
      : parseSpec(clusterConnectionKind, caches.of(clusterConnectionType).get(key) ?? {});
  if (!parsed.ok) return undefined;
  return { origin: originOf(parsed.spec.baseURL), orgIds: [parsed.spec.orgId] };
}
