/** What remains of each object if everything is removed while the operator runs. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import type { ClusterConnection, Connection } from "../../api/connection.ts";
import type { KindName } from "../../api/kinds.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Instant } from "../../util/time.ts";
import { isGone } from "../cluster/bound-policies.ts";
import { canWait, whyDeletionWaits } from "../cluster/deletion-waits.ts";
import { type AnyObject, commandAbout, nameOf, toText } from "../cluster/kinds.ts";
import { liveKeysOf, missingAccounts } from "../cluster/live-keys.ts";
import { lacksSecret } from "../cluster/missing-secrets.ts";
import { objectsOf, type World } from "../cluster/read.ts";
import { belongsTo, chainOf, usersOf } from "../cluster/relations.ts";
import { both } from "./time.ts";

export interface Remnant {
  readonly kind: "Object" | "Account" | "Key" | "Policies" | "Secret" | "Installation";
  readonly namespace: string | undefined;
  readonly what: string;
  /** Absent if that is unknown. */
  readonly stays?: boolean | undefined;
  readonly detail: string;
  /** Whether the deletion of its object waits for something that does not come by itself. */
  readonly waits?: boolean;
}

/** What a reader of the world knows beside it. */
interface Known {
  readonly unreadable: readonly KindName[];
  /** Secrets that do not exist. */
  readonly missing: ReadonlySet<string>;
  readonly now: Instant;
}

export function remnantsOf(world: World, home: string, known: Known): readonly Remnant[] {
  return [
    ...objectsOf(world).flatMap((object) => waitingObject(object, world)),
    ...world.serviceAccounts.flatMap((account) => [
      ...accountRemnant(account, world, known),
      ...orphanedRemnants(account),
      ...keyRemnants(account, world, known),
    ]),
    ...missingAccounts(world).flatMap((account) => keyRemnants(account, world, known)),
    ...world.serviceAccounts.flatMap((account) => policyRemnants(account, world)),
    ...world.apiKeys.flatMap((apiKey) => secretRemnant(apiKey, known)),
    {
      kind: "Installation",
      namespace: home,
      what: "CRDs, namespace, Lease, credentials",
      stays: true,
      detail: "until you delete them: helm uninstall removes the operator only",
    },
  ];
}

/** The object, if it waits although everything is deleted. */
function waitingObject(object: AnyObject, world: World): readonly Remnant[] {
  const detail = whyWaits(object, world);
  if (detail === undefined) return [];
  const { namespace } = object.metadata;
  return [{ kind: "Object", namespace, what: nameOf(object), stays: true, detail, waits: true }];
}

/** An account waits for the objects that use it, and a connection for its accounts. */
function whyWaits(object: AnyObject, world: World): string | undefined {
  const own = whyDeletionWaits(object) ?? whyPoliciesWait(object, world);
  if (own !== undefined || !canWait(object)) return own;
  const user = usersOf(object, world).find((each) => whyWaits(each, world) !== undefined);
  return user && `its deletion waits for ${nameOf(user)}`;
}

/** Nothing is unbound while the ServiceAccount is suspended, or only planned. */
function whyPoliciesWait(object: AnyObject, world: World): string | undefined {
  if (object.kind !== "PolicyBinding") return undefined;
  const binding = object as PolicyBinding & AnyObject;
  const account = world.serviceAccounts.find((each) => belongsTo(binding, each));
  if (account === undefined || isGone(account) || isKept(binding)) return undefined;
  if ((binding.status?.appliedPolicyIds ?? []).length === 0) return undefined;
  return whyDeletionWaits(account as AnyObject) && `its deletion waits for ${nameOf(account)}`;
}

/** Whether its policies stay bound after its deletion, if the grant allows that. */
function isKept({ spec }: PolicyBinding): boolean {
  return spec.suspend || spec.deletionPolicy === "Retain";
}

/** None of an account that another object has imported: that object's row is about it. */
function accountRemnant(account: ServiceAccount, world: World, known: Known): readonly Remnant[] {
  const { metadata, spec, status } = account;
  const named = status?.saId === undefined ? spec.saId : undefined;
  if (named !== undefined && world.serviceAccounts.some((one) => one.status?.saId === named))
    return [];
  const exists = status?.saId !== undefined && !isGone(account);
  const isAbsent = isGone(account) || status?.ownership === "NotFound";
  const isLeft = !isAbsent && named !== undefined;
  const absent = isLeft
    ? "it is not imported, so nothing is done to it"
    : isAbsent
      ? "the account does not exist in the console"
      : "the operator knows of no account that was created for it";
  return [
    {
      kind: "Account",
      namespace: metadata.namespace,
      what: `account ${status?.saId ?? spec.saId ?? "(not created)"} of ${nameOf(account)}`,
      ...(exists ? disposalOf(account, world, known) : { stays: isLeft, detail: absent }),
    },
  ];
}

/** What the operator does to an account that the console has. */
function disposalOf(
  account: ServiceAccount,
  world: World,
  known: Known,
): Pick<Remnant, "stays" | "detail" | "waits"> {
  const wait = waitForConnection(account, world, known);
  const done = {
    stays: true,
    waits: whatHoldsUp(account, world, known) !== undefined,
  };
  switch (deletionPolicyOf(account)) {
    case "Revoke":
      return { ...done, detail: `its policies are unbound${wait}` };
    case "Retain":
      return { ...done, detail: `policies bound outside the operator stay bound${wait}` };
    case "Delete": {
      const connection = connectionOf(account, world);
      if (connection === undefined && isUnreadable(account, known))
        return { detail: `only a deleteServiceAccount call of the connection deletes it${wait}` };
      if (connection?.spec.extraCalls?.deleteServiceAccount !== undefined) {
        const detail = `the connection's deleteServiceAccount call deletes it, with its keys${wait}`;
        return { ...done, stays: false, detail };
      }
      const detail = `the deletion of ${nameOf(account)} waits: the connection names no deleteServiceAccount call; set another deletionPolicy${wait}`;
      return { ...done, waits: true, detail };
    }
  }
}

/** Whether the user cannot list the kind of the account's connection. A missing account can be an unreadable one. */
function isUnreadable({ spec }: Partial<ServiceAccount>, { unreadable }: Known): boolean {
  return unreadable.includes(spec?.connectionRef?.kind ?? "ServiceAccount");
}

function unreadableText(account: ServiceAccount): string {
  const { connectionRef }: Partial<ServiceAccount["spec"]> = account.spec;
  return `you do not have permission to read ${connectionRef ? toText(connectionRef) : nameOf(account)}`;
}

/** The state of the connection in which nothing can be done in the console. */
function whatHoldsUp(account: ServiceAccount, world: World, known: Known): string | undefined {
  const connection = connectionOf(account, world);
  if (connection?.spec.suspend === true)
    return `${nameOf(connection)} is suspended: ${commandAbout("resume", connection)}`;
  return connection !== undefined || isUnreadable(account, known)
    ? undefined
    : `${toText(account.spec.connectionRef)} does not exist`;
}

/** What may hold up the calls to the console. */
function waitForConnection(account: ServiceAccount, world: World, known: Known): string {
  const holdUp = whatHoldsUp(account, world, known);
  if (holdUp !== undefined) return `; it waits, and is given up in the end, while ${holdUp}`;
  return connectionOf(account, world) === undefined ? `; ${unreadableText(account)}` : "";
}

function orphanedRemnants({ metadata, status }: ServiceAccount): readonly Remnant[] {
  return (status?.orphanedAccounts ?? []).map(({ saId }) => ({
    kind: "Account",
    namespace: metadata.namespace,
    what: `account ${saId}, orphaned`,
    stays: true,
    detail: "the operator never uses or deletes it",
  }));
}

function deletionPolicyOf({ spec, status }: ServiceAccount): "Revoke" | "Retain" | "Delete" {
  return spec.deletionPolicy ?? (status?.origin === "Imported" ? "Retain" : "Revoke");
}

/** Keys stay valid unless the connection names a call that revokes them, or their account is deleted. */
function keyRemnants(account: ServiceAccount, world: World, known: Known): readonly Remnant[] {
  const { namespace } = account.metadata;
  const keys = world.apiKeys.filter((key) => key.metadata.namespace === namespace);
  const connection = connectionOf(account, world);
  const { disableKey, deleteKey, deleteServiceAccount } = connection?.spec.extraCalls ?? {};
  const isToDelete = account.spec.deletionPolicy === "Delete";
  const expiry = new Map(keys.flatMap(({ status }) => expirations(status)));
  return liveKeysOf(account, keys, known.missing).map(({ keyId, where, isRevocable }) => {
    const isEnded =
      (isToDelete && deleteServiceAccount !== undefined) ||
      (isRevocable && (disableKey ?? deleteKey) !== undefined);
    const isUnknown =
      connection === undefined && isUnreadable(account, known) && (isToDelete || isRevocable);
    const end = expiry.get(keyId);
    const until = end === undefined ? "it expires" : `${both(end, known.now)} at the latest`;
    const valid = `stays valid until ${until}${isUnknown ? `, unless a call of the connection revokes it; ${unreadableText(account)}` : ""}`;
    return {
      kind: "Key",
      namespace,
      what: `key ${keyId} (${where})`,
      stays: isUnknown ? undefined : !isEnded,
      detail: isEnded
        ? `is deleted or disabled by the connection's extraCalls${waitForConnection(account, world, known)}`
        : valid,
    };
  });
}

function expirations(status: ApiKey["status"]): readonly (readonly [string, string])[] {
  const { current, superseded = [], orphaned = [] } = status ?? {};
  return [current, ...superseded, ...orphaned].flatMap((key) =>
    key?.keyId === undefined ? [] : [[key.keyId, key.expirationTime] as const],
  );
}

/** Unless its account is retained, the deletion of the account unbinds what a PolicyBinding leaves bound. */
function policyRemnants(account: ServiceAccount, world: World): readonly Remnant[] {
  if (isGone(account) || deletionPolicyOf(account) !== "Retain") return [];
  const stays = retainsPolicies(account, world);
  if (stays === false) return [];
  return world.policyBindings
    .filter((binding) => belongsTo(binding, account))
    .filter(isKept)
    .map((binding) => ({
      kind: "Policies",
      namespace: binding.metadata.namespace,
      what: `policies of ${nameOf(binding)}`,
      stays,
      detail: `it ${binding.spec.suspend ? "is suspended" : "has deletionPolicy: Retain"}, so they stay bound${stays ? "" : ", if a grant for the namespace has retainPolicies: true"}`,
    }));
}

/** Whether policies may stay bound; `undefined` if the labels of the namespace decide, or an unreadable connection. */
function retainsPolicies(account: ServiceAccount, world: World): boolean | undefined {
  const connection = connectionOf(account, world);
  if (connection?.kind !== "ClusterConnection")
    return account.spec.connectionRef.kind === "ClusterConnection" ? undefined : true;
  const { grants } = (connection as ClusterConnection).spec;
  return grants.some(({ retainPolicies }) => retainPolicies) ? undefined : false;
}

/** An ApiKey without a key may name the Secret of another one. */
function secretRemnant(apiKey: ApiKey, { missing }: Known): readonly Remnant[] {
  const { metadata, spec, status } = apiKey;
  if (status?.secretName === undefined || status.current === undefined) return [];
  if (lacksSecret(apiKey, missing)) return [];
  const stays = spec.secret?.deletionPolicy === "Retain";
  return [
    {
      kind: "Secret",
      namespace: metadata.namespace,
      what: `secret/${status.secretName}`,
      stays,
      detail: stays ? "spec.secret.deletionPolicy is Retain" : "is deleted with its ApiKey",
    },
  ];
}

function connectionOf(account: ServiceAccount, world: World): Connection | undefined {
  return chainOf(account as AnyObject, world).connection as Connection | undefined;
}
