/**
 * Which account a key belongs to. `spec.serviceAccountRef` names the account for which keys are issued; after a change
 * of it, the key in use belongs to another account until its successor is delivered. Pure.
 */

import type { ClockReading } from "../../../reconciler/clock-reading.ts";
import type { Waiting } from "../../../reconciler/rules/outcome.ts";
import { reconciling } from "../../../reconciler/rules/waiting.ts";
import { MINUTE, toIso8601 } from "../../../util/time.ts";
import type { KeyAccount } from "../secret/pair.ts";
import { nextWindow, welcomeTime } from "./schedule.ts";
import type { ApiKeySnapshot, ReadyAccount } from "./snapshot.ts";
import type { KeyStatus } from "./status.ts";
import type { UnusableAccount } from "./unusable-account.ts";

type Account = ReadyAccount | UnusableAccount;
type Accounts = Pick<ApiKeySnapshot, "account" | "otherAccounts" | "spec">;

/** The account of a key. Calls about the key must use it; only it may see the key's secret. */
export function accountOf(key: KeyAccount | undefined, snapshot: Accounts): Account {
  if (key?.saId === undefined || isOfSpec(key, snapshot)) return snapshot.account;
  return snapshot.otherAccounts?.get(key.saId) ?? unknownAccount(key);
}

/** The account of the key in use; without a key, the account for which a key is to be issued. */
export function accountInUse(snapshot: Accounts & Pick<ApiKeySnapshot, "status">): Account {
  return accountOf(snapshot.status.current, snapshot);
}

/** Whether the console no longer has the key's account, so that the key does not work. */
export function isOfGoneAccount(key: KeyAccount, snapshot: Accounts): boolean {
  return accountOf(key, snapshot).isGone === true;
}

/** Whether the key belongs to the account that the spec names. */
export function isOfSpec(
  { serviceAccount, saId }: KeyAccount,
  { account, spec }: Pick<Accounts, "account" | "spec">,
): boolean {
  if (saId === undefined) return true;
  return account.kind === "Ready"
    ? account.saId === saId
    : serviceAccount === spec.serviceAccountRef.name;
}

/** Whether the key in use belongs to another account than the spec names. */
export function isMoving(snapshot: Accounts & Pick<ApiKeySnapshot, "status">): boolean {
  const { current } = snapshot.status;
  return current !== undefined && !isOfSpec(current, snapshot);
}

/**
 * The status with the account of every key. Keys whose account is unknown count as keys of the account that the spec
 * names, and an account may have got a ServiceAccount with another name.
 */
export function withKnownAccounts(
  status: KeyStatus,
  { saId }: Pick<ReadyAccount, "saId">,
  serviceAccount: string,
): KeyStatus {
  const known = <Key extends KeyAccount>(key: Key): Key =>
    key.saId === undefined || key.saId === saId ? { ...key, serviceAccount, saId } : key;
  return {
    ...status,
    current: status.current && known(status.current),
    superseded: status.superseded.map(known),
    orphaned: status.orphaned.map(known),
  };
}

/** Says when a change of account waits for a rotation window. */
export function reportMove(snapshot: ApiKeySnapshot, at: ClockReading): Waiting | undefined {
  const { spec, status } = snapshot;
  if (status.current === undefined || !isMoving(snapshot)) return undefined;
  const opensAt = welcomeTime(status.current, spec.rotation, at.now);
  const time = toIso8601(opensAt);
  const when =
    nextWindow(spec.rotation, at.now) === opensAt
      ? `when the next rotation window opens, at ${time},`
      : `at ${time}, before which no rotation window opens,`;
  const message = `A key of ServiceAccount ${spec.serviceAccountRef.name} replaces the key in use ${when} or when you set the annotation iam-operator.io/rotate-requested-at.`;
  return reconciling("WaitingForWindow", message, Math.max(opensAt - at.now, MINUTE));
}

function unknownAccount({ serviceAccount = "", saId = "" }: KeyAccount): UnusableAccount {
  return reconciling(
    "ServiceAccountNotFound",
    `ServiceAccount ${serviceAccount} does not exist in this namespace, or has another account than ${saId}: the operator cannot look after the keys of account ${saId}.`,
  );
}
