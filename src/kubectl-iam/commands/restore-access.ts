/**
 * `restore-access`: binds the policies of an account's PolicyBindings again, after listing the keys that become usable
 * again.
 */
import { findCondition } from "../../api/conditions.ts";
import type { PolicyBinding } from "../../api/policy-binding.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { accountText, boundOf } from "../cluster/bound-policies.ts";
import { causeOfDelay } from "../cluster/chain.ts";
import { changeOf } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf, parseNameOf } from "../cluster/kinds.ts";
import { listed } from "../cluster/listed.ts";
import { keyLines, liveKeysOf } from "../cluster/live-keys.ts";
import { readObject, readUsers } from "../cluster/read.ts";
import { changeAndWait, type Missing, unobserved } from "../cluster/wait.ts";
import { field, renderFields } from "../view/fields.ts";
import { readinessOf } from "../view/readiness.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseNameOf("ServiceAccount", args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const account = await readObject(cluster, "ServiceAccount", name);
  const { apiKeys, policyBindings } = await readUsers(cluster, name);
  const keys = liveKeysOf(account, apiKeys);
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
  if (account.status?.liveKeyIds === undefined)
    io.note("The console lists no keys, so keys issued outside the operator are not shown.");
  await confirm(
    invocation,
    `Each of these keys works again, a leaked one included: revoke leaked keys in the console first, or run kubectl iam replace-account ${name} instead. Restore the access of ${name}?`,
  );
  const change = changeOf(account, { spec: { access: "Granted" } }, "access is being restored");
  return await changeAndWait(invocation, cluster, [change], {
    findMissing: (now, before) => missingOf(cluster, now as ServiceAccount, before),
    done: (now) => report(invocation, cluster, now as ServiceAccount),
  });
}

async function missingOf(
  cluster: Cluster,
  account: ServiceAccount,
  before: AnyObject,
): Promise<Missing | undefined> {
  const { policyBindings } = await readUsers(cluster, account.metadata.name);
  const left = policyBindings.filter((binding) => !isSettled(binding, account));
  const unseen = unobserved(account, before);
  if (left.length === 0 && unseen === undefined) return undefined;
  const cause = await causeOfDelay(cluster, account as AnyObject, unseen);
  const names = left.map((binding) => nameOf(binding)).join(", ");
  return { ...cause, text: `${names === "" ? "" : `not bound yet: ${names}; `}${cause.text}` };
}

/** Whether the PolicyBinding's policies are bound, or a reason other than AccessRevoked keeps them unbound. */
function isSettled(binding: PolicyBinding, account: ServiceAccount): boolean {
  return unboundOf(binding, account).length === 0 || heldBy(binding) !== undefined;
}

/** The policies of the PolicyBinding that the ServiceAccount does not report as bound. */
function unboundOf({ spec }: PolicyBinding, account: ServiceAccount): readonly string[] {
  const policyIds = boundOf(account, "Declared");
  return spec.policyIds.filter((policyId) => !policyIds.includes(policyId));
}

function heldBy({ status }: PolicyBinding): string | undefined {
  const stalled = findCondition(status?.conditions, "Stalled");
  return stalled === undefined || stalled.reason === "AccessRevoked" ? undefined : stalled.reason;
}

async function report(
  { io }: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): Promise<ExitCode> {
  const bound = listed(boundOf(account, "Declared")) || "no policy";
  io.print(`${nameOf(account)} has ${bound} bound`);
  const { policyBindings } = await readUsers(cluster, account.metadata.name);
  const held = policyBindings.filter((binding) => heldBy(binding) !== undefined);
  for (const binding of held) {
    const { reason, message } = readinessOf(binding);
    const left = unboundOf(binding, account);
    const what = left.length === 0 ? "" : ` ${left.join(", ")} stays unbound:`;
    io.note(`${nameOf(binding)}:${what} ${reason}: ${message}`);
  }
  return held.length === 0 ? exitCode.ok : exitCode.found;
}
