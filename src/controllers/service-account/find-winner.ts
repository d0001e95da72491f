import {
  type ConnectionSpec,
  clusterConnectionKind,
  connectionKind,
} from "../../api/connection.ts";
import { type ConnectionRef, connectionRef } from "../../api/fields.ts";
import { type ParsedSpec, parseSpec } from "../../api/parse-spec.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { originOf } from "../connection-origin.ts";
import { type Context, indexes } from "../frame/context.ts";
import { type Claim, claimWinner, type Realm } from "./claims.ts";

/** The connection that a stored object names, with defaults. */
export function refOf(object: ServiceAccount): ConnectionRef {
  const parsed = connectionRef.safeParse(object.spec?.connectionRef);
  return parsed.success ? parsed.data : connectionRef.parse(undefined);
}

/** Console and organization that the object's connection names, as stored. */
export function realmOf(
  { caches }: Pick<Context, "caches">,
  object: ServiceAccount,
): Realm | undefined {
  const { kind, name } = refOf(object);
  const namespace = object.metadata.namespace ?? "";
  const spec: ConnectionSpec | undefined =
    kind === "Connection"
      ? specOf(parseSpec(connectionKind, caches.connections.get({ namespace, name }) ?? {}))
      : specOf(
          parseSpec(
            clusterConnectionKind,
            caches.clusterConnections.get({ namespace: "", name }) ?? {},
          ),
        );
  return spec === undefined
    ? undefined
    : {
        origin: originOf(spec.baseURL),
        orgId: object.status?.orgId ?? object.spec.orgId ?? spec.orgId,
      };
}

function specOf<T>(parsed: ParsedSpec<T>): T | undefined {
  return parsed.ok ? parsed.spec : undefined;
}

/** The object that the account belongs to, out of all in the cluster. */
export async function findWinner(
  saId: string,
  realm: Realm,
  { caches, connections }: Context,
): Promise<ServiceAccount | undefined> {
  const claims = await Promise.all(
    caches.serviceAccounts.byIndex(indexes.saId, saId).map(
      async (object): Promise<Claim> => ({
        object,
        realm: realmOf({ caches }, object),
        mayImport: await mayImport(object, connections),
      }),
    ),
  );
  return claimWinner(saId, realm, claims);
}

async function mayImport(
  object: ServiceAccount,
  connections: Context["connections"],
): Promise<boolean> {
  if (object.spec.saId === undefined) return false;
  const lookup = await connections.resolve(refOf(object), object.metadata.namespace ?? "");
  return lookup.ok && lookup.access.grant.importServiceAccounts;
}

/** Whether another object stands for that account; for accounts that nobody has claimed by name. */
export function isClaimedByOther(
  saId: string,
  self: ServiceAccount,
  context: Pick<Context, "caches">,
): boolean {
  const realm = realmOf(context, self);
  return context.caches.serviceAccounts.byIndex(indexes.saId, saId).some((object) => {
    const theirs = realmOf(context, object);
    return (
      object.metadata.uid !== self.metadata.uid &&
      theirs?.origin === realm?.origin &&
      theirs?.orgId === realm?.orgId
    );
  });
}
