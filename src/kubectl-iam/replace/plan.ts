/** What is left of the replacement of an account, by the objects alone. Pure. */
import { accountInUse } from "../../api/account-in-use.ts";
import type { ApiKey } from "../../api/api-key.ts";
import { annotations } from "../../api/meta.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { toMicroTime } from "../../util/time.ts";
import { Failure, UsageError } from "../cli/errors.ts";
import type { Options } from "../cli/options.ts";
import { isGone, isReadable, lastShown, notReadText } from "../cluster/bound-policies.ts";
import { type Change, changeOf } from "../cluster/change.ts";
import type { FileObject } from "../cluster/given-objects.ts";
import { commandAbout, nameOf } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { isRevoked } from "../cluster/revocation.ts";
import { pendingRotation, rotationRequest } from "../cluster/rotation.ts";
import { bindingCopy, bindingOf, nextName, replacedBy, successorOf } from "./copies.ts";

/** The objects of one namespace. */
export type Objects = Pick<World, "serviceAccounts" | "policyBindings" | "apiKeys">;

export interface Plan {
  readonly account: ServiceAccount;
  /** Name of the successor. */
  readonly successor: string;
  readonly missing: readonly FileObject[];
  /** PolicyBindings of the account. */
  readonly formerBindings: readonly PolicyBinding[];
  /** ApiKeys that are to get a key of the successor. */
  readonly moving: readonly ApiKey[];
  /** ApiKeys that still use the account, and whose spec names a third account. Access is not revoked before they have its key. */
  readonly leaving: readonly ApiKey[];
  /** Whether no ApiKey uses the account and a read has shown that no policy is bound to it. */
  readonly isDone: boolean;
}

type Given = Pick<Options, "name" | "withForeign" | "withoutForeign">;

/** Throws UsageError if the user must decide something, and Failure if the account cannot be replaced. */
export function planReplacement(account: ServiceAccount, objects: Objects, given: Given): Plan {
  if (isBeingDeleted(account)) throw new Failure(`${nameOf(account)} is being deleted.`);
  const { name } = account.metadata;
  const successor = chooseSuccessor(account, objects, given);
  const users = objects.apiKeys.filter((apiKey) => usesAccount(apiKey, name, successor));
  const isDone = users.length === 0 && isRevoked(account);
  const moving = movingOf(name, successor, objects);
  const leaving = users.filter((apiKey) => !moving.includes(apiKey));
  const exists = objects.serviceAccounts.some(({ metadata }) => metadata.name === successor);
  const missing = isDone
    ? []
    : [
        ...(exists ? [] : [successorOf(account, successor)]),
        ...missingBindings(account, successor, objects, given),
      ];
  const formerBindings = bindingsOf(name, objects);
  return { account, successor, missing, formerBindings, moving, leaving, isDone };
}

/** The ApiKeys that are to get a key of the successor. An ApiKey of a third account is left alone. */
export function movingOf(
  account: string,
  successor: string,
  { apiKeys }: Pick<Objects, "apiKeys">,
): readonly ApiKey[] {
  return apiKeys.filter(
    (apiKey) =>
      usesAccount(apiKey, account, successor) &&
      [account, successor].includes(apiKey.spec.serviceAccountRef.name),
  );
}

/** Whether the spec names the account, or the key in use belongs to it, or may belong to it. */
export function usesAccount(apiKey: ApiKey, account: string, successor: string): boolean {
  const { spec, status } = apiKey;
  if (isBeingDeleted(apiKey)) return false;
  const named = spec.serviceAccountRef.name;
  return named === successor
    ? status?.current?.serviceAccount !== successor
    : named === account || accountInUse(apiKey) === account;
}

/**
 * The changes that move the ApiKeys. `isUrgent`: the operator need not wait for a rotation window, and daily limits do
 * not apply; an ApiKey that still has a key of the successor needs no other key.
 */
export function movesOf(
  { moving, successor }: Plan,
  isUrgent: boolean,
  now: number,
): readonly Change[] {
  return moving.flatMap((apiKey) => {
    const isMoved = apiKey.spec.serviceAccountRef.name === successor;
    const isRequested =
      pendingRotation(apiKey) !== undefined ||
      apiKey.status?.attempt !== undefined ||
      apiKey.status?.current?.serviceAccount === successor;
    const request = isUrgent && !isRequested ? rotationRequest(apiKey, toMicroTime(now)) : {};
    const patch = {
      ...(isMoved ? {} : { spec: { serviceAccountRef: { name: successor } } }),
      ...request,
    };
    const done = `${isMoved ? "is asked for a key of" : "moves to"} iamsa/${successor}`;
    return Object.keys(patch).length === 0 ? [] : [changeOf(apiKey, patch, done)];
  });
}

function chooseSuccessor(
  { metadata }: ServiceAccount,
  { serviceAccounts }: Objects,
  { name }: Given,
): string {
  const found = serviceAccounts
    .filter((each) => replacedBy(each) === metadata.name)
    .map((each) => each.metadata.name);
  const taken = new Set(serviceAccounts.map((each) => each.metadata.name));
  if (name !== undefined) {
    if (!taken.has(name) || found.includes(name)) return name;
    throw new UsageError(
      `iamsa/${name} exists and does not replace ${metadata.name}: choose another name, or set its annotation ${annotations.replaces}=${metadata.name}`,
    );
  }
  const [first, ...others] = found;
  if (others.length > 0)
    throw new UsageError(`${found.join(" and ")} replace ${metadata.name}: choose one with --name`);
  return first ?? nextName(metadata.name, taken);
}

/** Copies of the account's PolicyBindings that the successor lacks. */
function missingBindings(
  account: ServiceAccount,
  successor: string,
  objects: Objects,
  { withForeign, withoutForeign }: Given,
): readonly FileObject[] {
  const own = bindingsOf(successor, objects);
  const former = bindingsOf(account.metadata.name, objects);
  const taken = new Set(objects.policyBindings.map(({ metadata }) => metadata.name));
  const nameFor = (base: string) => {
    const name = nextName(base, taken);
    taken.add(name);
    return name;
  };
  const copies = former
    .filter((binding) => !own.some((each) => stands(each, binding)))
    .map((binding) => bindingCopy(binding, nameFor(binding.metadata.name), successor));
  const isDeclaredBy = (bindings: readonly PolicyBinding[], policyId: string) =>
    bindings.some(({ spec }) => spec.policyIds.includes(policyId));
  // The successor of an account that is gone can have what was bound to it.
  const others = lastShown(account, "Foreign", "Abandoned").filter(
    (policyId) => !isDeclaredBy(former, policyId),
  );
  const foreign = others.filter((policyId) => !isDeclaredBy(own, policyId));
  if (withoutForeign) {
    const kept = own.filter((each) => others.some((policyId) => isDeclaredBy([each], policyId)));
    if (kept.length > 0) throw notLeftOut(kept);
    return copies;
  }
  if (mayBindMore(account)) throw notRead(account, `${notReadText(account)}.`);
  if (foreign.length === 0) return copies;
  if (!withForeign) throw undeclared(account, foreign);
  const name = nameFor(`${account.metadata.name}-foreign`);
  return [...copies, bindingOf(foreign, name, account, successor)];
}

/** The PolicyBindings of the account that are not being deleted. */
export function bindingsOf(
  account: string,
  { policyBindings }: Pick<Objects, "policyBindings">,
): readonly PolicyBinding[] {
  return policyBindings.filter(
    (binding) => binding.spec.serviceAccountRef.name === account && !isBeingDeleted(binding),
  );
}

/** Whether the successor's PolicyBinding stands for a PolicyBinding of the old account. */
function stands(own: PolicyBinding, former: PolicyBinding): boolean {
  return (
    replacedBy(own) === former.metadata.name ||
    former.spec.policyIds.every((policyId) => own.spec.policyIds.includes(policyId))
  );
}

/** Whether the console may show bound policies that the record lacks. */
function mayBindMore(account: ServiceAccount): boolean {
  return !isReadable(account) && !isGone(account) && account.spec.access !== "Revoked";
}

export function notRead(account: ServiceAccount, why: string): UsageError {
  return new UsageError(
    `it is unknown what is bound to ${nameOf(account)} in the console, so the successor could lack policies: ${why} Look in the console; --without-foreign goes on with what PolicyBindings declare`,
  );
}

function notLeftOut(kept: readonly PolicyBinding[]): UsageError {
  const names = kept.map(nameOf).join(" ");
  return new UsageError(
    `the successor's ${names} declares what --without-foreign leaves out: first run kubectl delete ${names} -n ${kept[0]?.metadata.namespace}`,
  );
}

function undeclared(account: ServiceAccount, foreign: readonly string[]): UsageError {
  return new UsageError(
    `policies of ${nameOf(account)} that no PolicyBinding declares: ${foreign.join(", ")}. ${commandAbout("replace-account", account)} --with-foreign declares them in a PolicyBinding of the successor, --without-foreign leaves them out`,
  );
}
