/** What remains of each object if everything is removed while the operator runs. Pure. */
import type { ApiKey } from "../../api/api-key.ts";
import type { Connection } from "../../api/connection.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Instant } from "../../util/time.ts";
import { isGone } from "../cluster/bound-policies.ts";
import { whyDeletionWaits } from "../cluster/deletion-waits.ts";
import { type AnyObject, commandAbout, nameOf } from "../cluster/kinds.ts";
import { liveKeysOf, missingAccounts } from "../cluster/live-keys.ts";
import { objectsOf, type World } from "../cluster/read.ts";
import { belongsTo, chainOf } from "../cluster/relations.ts";
import { both } from "./time.ts";

export interface Remnant {
  readonly kind: "Object" | "Account" | "Key" | "Policies" | "Secret" | "Installation";
  readonly namespace: string | undefined;
  readonly what: string;
  readonly stays: boolean;
  readonly detail: string;
}

export function remnantsOf(world: World, home: string, now: Instant): readonly Remnant[] {
  return [
    ...objectsOf(world).flatMap((object) => waitingObject(object, world)),
    ...world.serviceAccounts.flatMap((account) => [
      ...accountRemnant(account, world),
      ...orphanedRemnants(account),
      ...keyRemnants(account, world, now),
    ]),
    ...missingAccounts(world).flatMap((account) => keyRemnants(account, world, now)),
    ...world.serviceAccounts.flatMap((account) => policyRemnants(account, world)),
    ...world.apiKeys.flatMap(secretRemnant),
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
  const detail = whyDeletionWaits(object) ?? whyPoliciesWait(object, world);
  if (detail === undefined) return [];
  const { namespace } = object.metadata;
  return [{ kind: "Object", namespace, what: nameOf(object), stays: true, detail }];
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
function accountRemnant(account: ServiceAccount, world: World): readonly Remnant[] {
  const { metadata, spec, status } = account;
  const named = status?.saId === undefined ? spec.saId : undefined;
  if (named !== undefined && world.serviceAccounts.some((one) => one.status?.saId === named))
    return [];
  const policy = deletionPolicyOf(account);
  const exists = status?.saId !== undefined && !isGone(account);
  const connection = connectionOf(account, world);
  const canDelete = connection?.spec.extraCalls?.deleteServiceAccount !== undefined;
  const details = {
    Revoke: "its policies are unbound",
    Retain: "policies bound outside the operator stay bound",
    Delete: canDelete
      ? "the connection's deleteServiceAccount call deletes it, with its keys"
      : `the deletion of ${nameOf(account)} waits: the connection names no deleteServiceAccount call; set another deletionPolicy`,
  } as const;
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
      stays: isLeft || (exists && !(policy === "Delete" && canDelete)),
      detail: exists ? `${details[policy]}${waitForConnection(connection)}` : absent,
    },
  ];
}

function waitForConnection(connection: Connection | undefined): string {
  return connection?.spec.suspend === true
    ? `; it waits, and is given up in the end, while ${nameOf(connection)} is suspended: ${commandAbout("resume", connection)}`
    : "";
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
function keyRemnants(account: ServiceAccount, world: World, now: Instant): readonly Remnant[] {
  const { namespace } = account.metadata;
  const keys = world.apiKeys.filter((key) => key.metadata.namespace === namespace);
  const { disableKey, deleteKey, deleteServiceAccount } =
    connectionOf(account, world)?.spec.extraCalls ?? {};
  const isDeleted = account.spec.deletionPolicy === "Delete" && deleteServiceAccount !== undefined;
  const expiry = new Map(keys.flatMap(({ status }) => expirations(status)));
  return liveKeysOf(account, keys).map(({ keyId, where, isManaged }) => {
    const isEnded = isDeleted || (isManaged && (disableKey ?? deleteKey) !== undefined);
    const until = expiry.get(keyId);
    return {
      kind: "Key",
      namespace,
      what: `key ${keyId} (${where})`,
      stays: !isEnded,
      detail: isEnded
        ? "is deleted or disabled by the connection's extraCalls"
        : `stays valid until ${until === undefined ? "it expires" : `${both(until, now)} at the latest`}`,
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
  return world.policyBindings
    .filter((binding) => belongsTo(binding, account))
    .filter(isKept)
    .map((binding) => ({
      kind: "Policies",
      namespace: binding.metadata.namespace,
      what: `policies of ${nameOf(binding)}`,
      stays: true,
      detail: `it ${binding.spec.suspend ? "is suspended" : "has deletionPolicy: Retain"}, so they stay bound; with a ClusterConnection, only if a grant has retainPolicies: true`,
    }));
}

/** An ApiKey without a key may name the Secret of another one. */
function secretRemnant({ metadata, spec, status }: ApiKey): readonly Remnant[] {
  if (status?.secretName === undefined || status.current === undefined) return [];
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
