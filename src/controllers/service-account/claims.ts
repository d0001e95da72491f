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
import type { Claim } from "./rules/snapshot.ts";

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

/** The claims of other objects on these accounts, by saId. Makes no call. */
export async function readOtherClaims(
  saIds: readonly string[],
  self: ServiceAccount,
  reader: ClaimReader,
): Promise<ReadonlyMap<string, readonly Claim[]>> {
  const { serviceAccounts } = reader.caches;
  const toEntry = async (saId: string) => {
    const objects = serviceAccounts.byIndex(indexes.saId, saId);
    const others = objects.filter(({ metadata }) => metadata.uid !== self.metadata.uid);
    return [saId, await Promise.all(others.map((object) => readClaim(object, reader)))] as const;
  };
  return new Map(await Promise.all(saIds.map(toEntry)));
}

/** What the object claims, by console and organization that its connection names as stored. */
export async function readClaim(
  object: ServiceAccount,
  { caches, connections }: ClaimReader,
): Promise<Claim> {
  const { spec, status, metadata } = object;
  const ref = refOf(object);
  const connection = connectionSpecOf(object, caches);
  const scope = connection && {
    origin: originOf(connection.baseURL),
    orgId: status?.orgId ?? spec.orgId ?? connection.orgId,
  };
  const lookup = await connections.resolve(ref, metadata.namespace ?? "");
  return {
    object,
    scope,
    isProven: status?.saId !== undefined && status.consoleURL === scope?.origin,
    isOfCluster: ref.kind === "ClusterConnection",
    isUsable: lookup.ok,
    mayImport: lookup.ok && lookup.access.grant.importServiceAccounts,
  };
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
