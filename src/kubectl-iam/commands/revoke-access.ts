/** `revoke-access`: takes every policy from an account. */
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { makeChanges } from "../cluster/change.ts";
import { openCluster } from "../cluster/cluster.ts";
import { parseAccountName } from "../cluster/names.ts";
import { changeOf } from "../cluster/our-change.ts";
import { podsBySecret } from "../cluster/pods.ts";
import { readObject, readWorld } from "../cluster/read.ts";
import { waitFor } from "../cluster/wait.ts";
import { field, renderFields } from "../view/fields.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseAccountName(args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const account = await readObject(cluster, "ServiceAccount", name);
  if (account.spec.suspendAccess) {
    io.note(`serviceaccount/${name} has no access already.`);
    return exitCode.ok;
  }
  const [world, pods] = await Promise.all([
    readWorld(cluster, cluster.namespace),
    podsBySecret(cluster, cluster.namespace),
  ]);
  const keys = world.apiKeys.filter(({ spec }) => spec.serviceAccountRef.name === name);
  const secrets = keys.flatMap(({ status }) => status?.secretName ?? []);
  const users = secrets.flatMap((secret) => pods?.get(`${cluster.namespace}/${secret}`) ?? []);
  const { policyIds = [], foreignPolicyIds = [] } = account.status?.bindings ?? {};
  io.note(
    renderFields(
      [
        field("Account", account.status?.saId ?? "not at the console yet"),
        field("Unbinds", [...policyIds, ...foreignPolicyIds].join(", ") || "nothing that is known"),
        field("Keys", keys.map(({ metadata }) => `apikey/${metadata.name}`).join(", ") || "none"),
        field("Secrets", secrets.map((secret) => `secret/${secret}`).join(", ") || "none"),
        field("Pods", podsText(users, pods !== undefined)),
      ],
      screenOf(io),
    ),
  );
  await confirm(
    invocation,
    `Every call with these keys will be denied. Revoke the access of ${name}?`,
  );
  const change = changeOf(account, { spec: { suspendAccess: true } }, "access revoked");
  await makeChanges(invocation, cluster, [change]);
  if (options.dryRun || !options.wait) return exitCode.ok;
  await waitFor(invocation, cluster, account, missingOf);
  io.print(`serviceaccount/${name} has no policy bound any more`);
  return exitCode.ok;
}

function podsText(users: readonly string[], mayList: boolean): string {
  if (!mayList) return "not known: you may not list Pods here";
  return users.length === 0 ? "none" : users.map((pod) => `pod/${pod}`).join(", ");
}

function missingOf({ status }: ServiceAccount): string | undefined {
  const bound = status?.bindings?.policyCount;
  return bound === 0 || bound === undefined ? undefined : `${bound} policies are bound`;
}
