/** References between objects. Pure. */
import type { ConnectionRef } from "../../api/fields.ts";
import type { AnyObject } from "./kinds.ts";
import type { World } from "./read.ts";
import type { Chain } from "./why-held.ts";

interface Refs {
  readonly serviceAccountRef?: { readonly name: string };
  readonly connectionRef?: ConnectionRef;
}
export const refsOf = ({ spec }: AnyObject): Refs => (spec ?? {}) as Refs;

/** The object with its account and its connection, if the world has them. */
export function chainOf(object: AnyObject, world: World): Chain {
  const accounts = world.serviceAccounts as readonly AnyObject[];
  const account = accounts.find(
    ({ metadata }) =>
      metadata.namespace === object.metadata.namespace &&
      metadata.name === refsOf(object).serviceAccountRef?.name,
  );
  const user = account ?? object;
  const connection = connectionsOf(world).find((each) => refersTo(user, each));
  return { object, account, connection };
}

/** The objects that refer to a connection or an account and block its deletion. */
export function usersOf(object: AnyObject, world: World): readonly AnyObject[] {
  const { namespace, name } = object.metadata;
  if (object.kind === "ServiceAccount")
    return ([...world.apiKeys, ...world.policyBindings] as readonly AnyObject[]).filter(
      (user) =>
        user.metadata.namespace === namespace && refsOf(user).serviceAccountRef?.name === name,
    );
  const users = [...world.serviceAccounts, ...world.quotaExports] as readonly AnyObject[];
  return users.filter((user) => refersTo(user, object));
}

function connectionsOf({ clusterConnections, connections }: World): readonly AnyObject[] {
  return [...clusterConnections, ...connections] as readonly AnyObject[];
}

/** Whether an account or an export refers to the connection. */
export function refersTo(user: AnyObject, { kind, metadata }: AnyObject): boolean {
  const { connectionRef: ref } = refsOf(user);
  const isThere =
    metadata.namespace === undefined || metadata.namespace === user.metadata.namespace;
  return ref?.kind === kind && ref.name === metadata.name && isThere;
}
