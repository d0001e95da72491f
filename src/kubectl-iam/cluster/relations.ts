/** References between objects. Pure. */
import { useOf } from "../../accounts/key-accounts.ts";
import type { ConnectionRef } from "../../api/fields.ts";
import type { AnyObject, Named } from "./kinds.ts";
import type { World } from "./read.ts";
import type { Chain } from "./why-delayed.ts";

interface Refs {
  readonly serviceAccountRef?: { readonly name: string };
  readonly connectionRef?: ConnectionRef;
  readonly apiKeyRef?: { readonly name: string };
}
export const refsOf = ({ spec }: { readonly spec?: unknown }): Refs => (spec ?? {}) as Refs;

/** Any object that can refer to others. */
type Referring = Pick<AnyObject, "metadata"> & { readonly spec?: unknown };

/** Whether an ApiKey or a PolicyBinding refers to the account. */
export function belongsTo(user: Referring, { metadata }: Pick<AnyObject, "metadata">): boolean {
  return (
    user.metadata.namespace === metadata.namespace &&
    refsOf(user).serviceAccountRef?.name === metadata.name
  );
}

/** The object with its account and its connection, if the world has them. */
export function chainOf(object: AnyObject, world: World): Chain {
  const accounts = world.serviceAccounts as readonly AnyObject[];
  const account = accounts.find((each) => belongsTo(object, each));
  const user = account ?? object;
  const connection = connectionsOf(world).find((each) => refersTo(user, each));
  return { object, account, connection };
}

/** The objects that refer to a connection or an account and block its deletion. */
export function usersOf(object: AnyObject, world: World): readonly AnyObject[] {
  if (object.kind === "ServiceAccount")
    return [...keysOf(object, world), ...policiesOf(object, world)];
  const users = [...world.serviceAccounts, ...world.quotaExports] as readonly AnyObject[];
  return users.filter((user) => refersTo(user, object));
}

/** Also those that move to another account, or have a superseded key that may still work. */
function keysOf({ metadata }: AnyObject, { apiKeys }: World): readonly AnyObject[] {
  const found = apiKeys.filter(
    (each) =>
      each.metadata.namespace === metadata.namespace && useOf(each, metadata.name) !== undefined,
  );
  return found as readonly AnyObject[];
}

function policiesOf(account: AnyObject, { policyBindings }: World): readonly AnyObject[] {
  return (policyBindings as readonly AnyObject[]).filter((each) => belongsTo(each, account));
}

function connectionsOf({ clusterConnections, connections }: World): readonly AnyObject[] {
  return [...clusterConnections, ...connections] as readonly AnyObject[];
}

/** Whether an account or an export refers to the connection. */
export function refersTo(user: Referring, { kind, metadata }: Named): boolean {
  const { connectionRef: ref } = refsOf(user);
  const isThere =
    metadata.namespace === undefined || metadata.namespace === user.metadata.namespace;
  return ref?.kind === kind && ref.name === metadata.name && isThere;
}
