/** Revokes the access of an account, and waits until a read has shown that no policy is bound. */
import { ownsAccount } from "../../accounts/ownership.ts";
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { boundOf, isGone } from "./bound-policies.ts";
import { reportedCauseOfDelay } from "./chain.ts";
import { type Change, changeOf } from "./change.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, nameOf } from "./kinds.ts";
import { listed } from "./listed.ts";
import { type Missing, unobserved, waitForAll } from "./wait.ts";

export function revocationChange(account: ServiceAccount): Change {
  return changeOf(account, { spec: { access: "Revoked" } }, "access is being revoked");
}

/** Prints the proof that the status gives. */
export function waitUntilRevoked(
  invocation: Invocation,
  cluster: Cluster,
  changed: readonly AnyObject[],
): Promise<ExitCode> {
  return waitForAll(invocation, cluster, changed, {
    findMissing: (now, before) => missingOf(cluster, now as ServiceAccount, before),
    done: (now) => {
      invocation.io.print(revokedText(now as ServiceAccount));
      return exitCode.ok;
    },
  });
}

/** Whether a read has shown that no policy is bound, or the account does not exist in the console. */
export function isRevoked(account: ServiceAccount): boolean {
  const isHandled = unobserved(account, account) === undefined;
  const isProven =
    account.status?.saId === undefined ||
    isGone(account) ||
    revocationOf(account)?.status === "True";
  return account.spec.access === "Revoked" && isHandled && isProven;
}

export function revokedText(account: ServiceAccount): string {
  const name = nameOf(account);
  if (account.status?.saId === undefined)
    return `${name} does not have an account in the console yet; its policies will not be bound`;
  return isGone(account)
    ? `${name}: the console no longer has the account, so no policy is bound`
    : `${name}: ${revocationOf(account)?.message}`;
}

async function missingOf(
  cluster: Cluster,
  account: ServiceAccount,
  before: AnyObject,
): Promise<Missing | undefined> {
  const unseen = unobserved(account, before);
  if (unseen === undefined && isRevoked(account)) return undefined;
  const bound = listed(boundOf(account));
  const cause = await reportedCauseOfDelay(cluster, account as AnyObject, unseen);
  const left = bound === "" ? "not confirmed yet" : `still bound: ${bound}`;
  // The operator unbinds the policies of the object's own account even if it is not ready.
  const isFinal = unseen === undefined && cause.isFinal === true && !ownsAccount(account);
  return { ...cause, text: `${left}; ${cause.text}`, isFinal };
}

/** `undefined` until the operator has reported that access is to be revoked. */
export function revocationOf({ status }: ServiceAccount): Condition | undefined {
  return findCondition(status?.conditions, "AccessRevoked");
}
