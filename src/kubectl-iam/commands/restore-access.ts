/** `restore-access`: gives an account back what its PolicyBindings say. */
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseAccountName } from "../cluster/names.ts";
import { changeOf } from "../cluster/our-change.ts";
import { readObject, readWorld } from "../cluster/read.ts";
import { waitFor } from "../cluster/wait.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseAccountName(args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const account = await readObject(cluster, "ServiceAccount", name);
  const change = changeOf(account, { spec: { suspendAccess: false } }, "access restored");
  await makeChanges(invocation, cluster, [change]);
  if (options.dryRun || !options.wait) return exitCode.ok;
  const { policyBindings } = await readWorld(cluster, cluster.namespace);
  const wanted = policyBindings
    .filter(({ spec }) => spec.serviceAccountRef.name === name)
    .flatMap(({ spec }) => spec.policyIds);
  const { status } = await waitFor(invocation, cluster, account, (now) => missingOf(now, wanted));
  io.print(`serviceaccount/${name} has ${status?.bindings?.policyIds?.join(", ") || "no policy"}`);
  return exitCode.ok;
}

function missingOf({ status }: ServiceAccount, wanted: readonly string[]): string | undefined {
  const { policyIds = [], policyCount = 0 } = status?.bindings ?? {};
  const left = wanted.filter((policyId) => !policyIds.includes(policyId));
  if (left.length > 0) return `not bound yet: ${left.join(", ")}`;
  return policyCount === 0 && wanted.length > 0 ? "no policy is bound yet" : undefined;
}
