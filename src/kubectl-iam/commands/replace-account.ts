/** `replace-account`: moves the ApiKeys of an account to a new account, and revokes the access of the old one. */

import type { ApiKey } from "../../api/api-key.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode, Failure, UsageError } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { accountText, boundText, isGone } from "../cluster/bound-policies.ts";
import { isToWait } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import {
  type AnyObject,
  checkName,
  commandAbout,
  type Named,
  nameOf,
  parseNameOf,
} from "../cluster/kinds.ts";
import { listed } from "../cluster/listed.ts";
import { keyLines, liveKeysOf } from "../cluster/live-keys.ts";
import { missingSecrets } from "../cluster/missing-secrets.ts";
import { readObject } from "../cluster/read.ts";
import { revokedText } from "../cluster/revocation.ts";
import { DEFAULT_TIMEOUT } from "../cluster/wait.ts";
import { printCommits } from "../replace/export.ts";
import { phasesOf, titlesOf } from "../replace/phases.ts";
import { type Objects, type Plan, planReplacement } from "../replace/plan.ts";
import { readAccount } from "../replace/read.ts";
import { waitTexts } from "../replace/waits.ts";
import { field, renderFields } from "../view/fields.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseNameOf("ServiceAccount", args[0] ?? "");
  if (options.name !== undefined) checkName(options.name);
  if (options.withForeign && options.withoutForeign)
    throw new UsageError("--with-foreign and --without-foreign exclude each other");
  await using cluster = await openCluster(io, options);
  const found = await readObject(cluster, "ServiceAccount", name);
  const [account, objects] = await readBefore(invocation, cluster, found);
  const plan = planReplacement(account, objects, options);
  if (plan.isDone) {
    io.print(revokedText(account));
    noteLeft(io, plan);
    return exitCode.ok;
  }
  if (options.export) {
    await printCommits(io, plan);
    for (const apiKey of plan.leaving)
      io.note(
        `warning: ${nameOf(apiKey)} still uses ${nameOf(account)}: before the last commit, wait until it has a key of iamsa/${apiKey.spec.serviceAccountRef.name}, which its spec names.`,
      );
    return exitCode.ok;
  }
  const lost = await missingSecrets(cluster, cluster.namespace, objects.apiKeys);
  io.note(describe(invocation, plan, objects, lost));
  await confirm(
    invocation,
    `Every call with these keys will be denied at the end. Replace ${name} by ${plan.successor}?`,
  );
  return await runPhases(invocation, cluster, plan);
}

async function readBefore(
  invocation: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): ReturnType<typeof readAccount> {
  try {
    return await readAccount(invocation, cluster, account);
  } catch (error) {
    const left = ["read which policies are bound", "all that follows"];
    if (error instanceof Failure) noteRest(invocation, account, left);
    throw error;
  }
}

function describe(
  { io, options }: Invocation,
  plan: Plan,
  { apiKeys }: Objects,
  lost: ReadonlySet<string>,
): string {
  const { account, successor, missing, moving, leaving } = plan;
  return renderFields(
    [
      field("Account", accountText(account)),
      field("Successor", `iamsa/${successor}`),
      field("Creates", listed(missing.map(nameOf)) || "nothing"),
      field("Moves", listed(moving.map(nameOf)) || "no ApiKey"),
      field("Holds up", ...leaving.map(leavingText), ...suspendedOf(plan).map(suspendedText)),
      field(
        "Waits",
        ...waitTexts(moving, { isUrgent: options.now === true, isOver: isGone(account) }),
      ),
      field("Unbinds", boundText(account)),
      field("Keys", ...keyLines(liveKeysOf(account, apiKeys, lost))),
    ],
    screenOf(io),
  );
}

function leavingText(apiKey: ApiKey): string {
  const { name } = apiKey.spec.serviceAccountRef;
  return `${nameOf(apiKey)} still uses the account: access is revoked only after it has a key of iamsa/${name}, which its spec names`;
}

/** Suspended objects that the command waits for: copies of suspended PolicyBindings, and ApiKeys. */
function suspendedOf({ missing, moving }: Plan): readonly Named[] {
  return [...(missing as readonly AnyObject[]), ...(moving as readonly AnyObject[])].filter(
    ({ spec }) => spec?.suspend === true,
  );
}

function suspendedText(object: Named): string {
  return `${nameOf(object)} ${object.kind === "ApiKey" ? "is" : "is created"} suspended: the command continues after ${commandAbout("resume", object)}`;
}

/** All phases share one timeout. After a failure, says what is left. */
async function runPhases(invocation: Invocation, cluster: Cluster, plan: Plan): Promise<ExitCode> {
  const { io, options } = invocation;
  const phases = phasesOf(plan);
  const { timeout = DEFAULT_TIMEOUT + (options.overlap ?? 0) } = options;
  const deadline = io.clock.monotonic() + timeout;
  for (const [index, phase] of phases.entries()) {
    const left = { ...options, timeout: Math.max(0, deadline - io.clock.monotonic()) };
    let code: ExitCode = exitCode.failed;
    try {
      if (io.interrupted.aborted) throw new Failure("Interrupted.");
      code = await phase.run({ ...invocation, options: left }, cluster, plan);
    } finally {
      if (code !== exitCode.ok)
        noteRest(invocation, plan.account, await titlesOf(cluster, plan, phases.slice(index)));
    }
    if (code !== exitCode.ok) return code;
  }
  if (isToWait(options)) noteLeft(io, plan);
  return exitCode.ok;
}

function noteRest({ io }: Invocation, account: ServiceAccount, left: readonly string[]): void {
  const command = commandAbout("replace-account", account);
  io.note(`Left to do: ${left.join("; ")}. ${command}, with the same flags, continues.`);
}

/** The PolicyBindings of an account whose access is revoked are not Ready. */
function noteLeft(io: Io, { account, formerBindings }: Plan): void {
  if (formerBindings.length === 0) return;
  const { namespace, name } = account.metadata;
  const names = formerBindings.map(nameOf).join(" ");
  io.note(`To delete the PolicyBindings of ${name}: kubectl delete ${names} -n ${namespace}`);
}
