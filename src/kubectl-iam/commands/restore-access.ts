/**
 * `restore-access`: binds the policies of an account's PolicyBindings again, after listing the keys that become usable
 * again. Waits for a read that follows the change, which it requests for each PolicyBinding.
 */

import { findCondition } from "../../api/conditions.ts";
import { annotations } from "../../api/meta.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { toMicroTime } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { accountText, boundOf, isGone } from "../cluster/bound-policies.ts";
import { causeOfDelay } from "../cluster/chain.ts";
import { changeOf, isToWait, makeChanges } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { type AnyObject, commandAbout, nameOf, parseNameOf } from "../cluster/kinds.ts";
import { listed } from "../cluster/listed.ts";
import { keyLines, liveKeysOf } from "../cluster/live-keys.ts";
import { missingSecrets } from "../cluster/missing-secrets.ts";
import { readObject, readUsers, unlessForbidden } from "../cluster/read.ts";
import { type Missing, unobserved, waitForAll } from "../cluster/wait.ts";
import { field, renderFields } from "../view/fields.ts";
import { readinessOf } from "../view/readiness.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseNameOf("ServiceAccount", args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const account = await readObject(cluster, "ServiceAccount", name);
  const { apiKeys, policyBindings } = await readRemaining(cluster, name);
  const missing = await missingSecrets(cluster, cluster.namespace, apiKeys);
  const keys = liveKeysOf(account, apiKeys, missing);
  const policies = [...new Set(policyBindings.flatMap(({ spec }) => spec.policyIds))];
  io.note(
    renderFields(
      [
        field("Account", accountText(account)),
        field("Declared", listed(policies) || "no policy: no PolicyBinding names this account"),
        field("Keys", ...keyLines(keys)),
      ],
      screenOf(io),
    ),
  );
  const { saId, liveKeyIds } = account.status ?? {};
  if (saId !== undefined && !isGone(account) && liveKeyIds === undefined)
    io.note(
      "No list of the account's keys has been read, so keys issued outside the operator are not shown.",
    );
  await confirm(
    invocation,
    `Each of these keys works again, a leaked one included: revoke leaked keys in the console first, or run ${commandAbout("replace-account", account)} instead. Restore the access of ${name}?`,
  );
  const [changed] = await makeChanges(invocation, cluster, [
    changeOf(
      account,
      { spec: { access: "Granted" } },
      account.spec.access === "Revoked" ? "access is being restored" : "access is not revoked",
    ),
  ]);
  if (changed === undefined || !isToWait(options)) return exitCode.ok;
  const token = toMicroTime(io.clock.now());
  const request = { metadata: { annotations: { [annotations.reconcileRequestedAt]: token } } };
  const requests = policyBindings.map((each) =>
    changeOf(each as AnyObject, request, "reconcile requested"),
  );
  // Without this permission, the wait ends with what the PolicyBindings report by themselves.
  await unlessForbidden(makeChanges(invocation, cluster, requests));
  return await waitForAll(invocation, cluster, [changed], {
    findMissing: (now, before) => missingOf(cluster, now as ServiceAccount, before, token),
    done: () => report(invocation, cluster, name),
  });
}

/** The users of the account, without PolicyBindings that are being deleted. */
async function readRemaining(cluster: Cluster, account: string): ReturnType<typeof readUsers> {
  const { apiKeys, policyBindings } = await readUsers(cluster, account);
  return { apiKeys, policyBindings: policyBindings.filter((each) => !isBeingDeleted(each)) };
}

async function missingOf(
  cluster: Cluster,
  account: ServiceAccount,
  before: AnyObject,
  token: string,
): Promise<Missing | undefined> {
  const unseen = unobserved(account, before);
  // The PolicyBindings of such an account wait for it, whatever is requested.
  if (isGone(account)) return unseen;
  const { policyBindings } = await readRemaining(cluster, account.metadata.name);
  const left = policyBindings.filter((binding) => !isSettled(binding, account, token));
  if (left.length === 0 && unseen === undefined) return undefined;
  const cause = await causeOfDelay(cluster, account as AnyObject, unseen);
  const names = left.map((binding) => nameOf(binding)).join(", ");
  return { ...cause, text: `${names === "" ? "" : `not confirmed yet: ${names}; `}${cause.text}` };
}

/**
 * Whether the operator has handled the request, and the PolicyBinding's policies are bound, or a reason other than
 * AccessRevoked keeps them unbound. A PolicyBinding that was created after the request has no token.
 */
function isSettled(binding: PolicyBinding, account: ServiceAccount, token: string): boolean {
  const { metadata, status } = binding;
  const requested = metadata.annotations?.[annotations.reconcileRequestedAt];
  const isHandled = requested !== token || status?.lastHandledReconcileAt === token;
  const isBound = readinessOf(binding).ready === "True" && unboundOf(binding, account).length === 0;
  return isHandled && (isBound || stallOf(binding) !== undefined);
}

/** The policies of the PolicyBinding that the ServiceAccount does not report as bound. */
function unboundOf({ spec }: PolicyBinding, account: ServiceAccount): readonly string[] {
  const policyIds = boundOf(account, "Declared");
  return spec.policyIds.filter((policyId) => !policyIds.includes(policyId));
}

function stallOf({ status }: PolicyBinding): string | undefined {
  const stalled = findCondition(status?.conditions, "Stalled");
  return stalled === undefined || stalled.reason === "AccessRevoked" ? undefined : stalled.reason;
}

/** The account is read after the PolicyBindings: the operator writes its status first. */
async function report({ io }: Invocation, cluster: Cluster, name: string): Promise<ExitCode> {
  const { policyBindings } = await readRemaining(cluster, name);
  const account = await readObject(cluster, "ServiceAccount", name);
  const bound = listed(boundOf(account, "Declared")) || "no policy";
  io.print(`${nameOf(account)} has ${bound} bound`);
  const stalled = policyBindings.filter((binding) => stallOf(binding) !== undefined);
  for (const binding of stalled) {
    const { reason, message } = readinessOf(binding);
    const left = unboundOf(binding, account);
    const stays = left.length === 1 ? "stays" : "stay";
    const what = left.length === 0 ? "" : ` ${left.join(", ")} ${stays} unbound:`;
    io.note(`${nameOf(binding)}:${what} ${reason}: ${message}`);
  }
  return stalled.length === 0 && !isGone(account) ? exitCode.ok : exitCode.found;
}
