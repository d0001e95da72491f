/** Which objects name an account, as the caches have it. */
import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import { type ConnectionRef, connectionRef } from "../../api/fields.ts";
import { type ParsedSpec, parseSpec } from "../../api/parse-spec.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { originOf } from "../connection-origin.ts";
import { type Caches, type Connections, indexes } from "../frame/context.ts";
import type { Claim, ConsoleScope } from "./rules/snapshot.ts";

interface ClaimReader {
  readonly caches: Caches;
  readonly connections: Connections;
}

/** The index `saId`: with the organization where the object names it, and without. */
export function saIdIndex({ spec, status }: ServiceAccount): readonly string[] {
  const saId = status?.saId ?? spec?.saId;
  if (saId === undefined) return [];
  const orgId = status?.orgId ?? spec.orgId;
  return orgId === undefined ? [saId] : [saId, `${orgId}/${saId}`];
}

/** The connection that a stored object names, with defaults. */
export function refOf(object: ServiceAccount): ConnectionRef {
  const parsed = connectionRef.safeParse(object.spec?.connectionRef);
  return parsed.success ? parsed.data : connectionRef.parse(undefined);
}

/** All claims in the cluster on these accounts, by saId. Makes no call. */
export async function readClaims(
  saIds: readonly string[],
  reader: ClaimReader,
): Promise<ReadonlyMap<string, readonly Claim[]>> {
  const { serviceAccounts } = reader.caches;
  const toEntry = async (saId: string) => {
    const objects = serviceAccounts.byIndex(indexes.saId, saId);
    return [saId, await Promise.all(objects.map((object) => toClaim(object, reader)))] as const;
  };
  return new Map(await Promise.all(saIds.map(toEntry)));
}

async function toClaim(object: ServiceAccount, reader: ClaimReader): Promise<Claim> {
  return {
    object,
    scope: scopeOf(object, reader.caches),
    mayImport: await mayImport(object, reader.connections),
  };
}

/** Console and organization that the object's connection names, as stored. */
function scopeOf(object: ServiceAccount, caches: Caches): ConsoleScope | undefined {
  const spec = connectionSpecOf(object, caches);
  if (spec === undefined) return undefined;
  const orgId = object.status?.orgId ?? object.spec.orgId ?? spec.orgId;
  return { origin: originOf(spec.baseURL), orgId };
}

function connectionSpecOf(object: ServiceAccount, caches: Caches): ConnectionSpec | undefined {
  const { kind, name } = refOf(object);
  const { namespace = "" } = object.metadata;
  const parsed: ParsedSpec<ConnectionSpec> =
    kind === "Connection"
      ? parseSpec(connectionKind, caches.connections.get({ namespace, name }) ?? {})
      : parseSpec(
          clusterConnectionKind,
          caches.clusterConnections.get({ namespace: "", name }) ?? {},
        );
  return parsed.ok ? parsed.spec : undefined;
}

async function mayImport(object: ServiceAccount, connections: Connections): Promise<boolean> {
  if (object.spec.saId === undefined) return false;
  const lookup = await connections.resolve(refOf(object), object.metadata.namespace ?? "");
  return lookup.ok && lookup.access.grant.importServiceAccounts;
}
