/** `revoke-access`: unbinds every policy of an account, and waits until no policy is bound. */

import { accountInUse } from "../../api/account-in-use.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { accountText, boundOf, boundText } from "../cluster/bound-policies.ts";
import { isToWait, makeChanges } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { type AnyObject, parseNameOf } from "../cluster/kinds.ts";
import { listed } from "../cluster/listed.ts";
import { keyLines, liveKeysOf } from "../cluster/live-keys.ts";
import { missingSecrets } from "../cluster/missing-secrets.ts";
import { podsBySecret } from "../cluster/pods.ts";
import { readObject, readUsers } from "../cluster/read.ts";
import { revocationChange, waitUntilRevoked } from "../cluster/revocation.ts";
import { field, renderFields } from "../view/fields.ts";
import { screenOf } from "../view/screen.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  const { name } = parseNameOf("ServiceAccount", args[0] ?? "");
  await using cluster = await openCluster(io, options);
  const account = await readObject(cluster, "ServiceAccount", name);
  const changed =
    account.spec.access === "Revoked"
      ? [account as AnyObject]
      : await revoke(invocation, cluster, account);
  if (account.spec.access === "Revoked") io.note(`iamsa/${name}: revoking was requested already.`);
  if (!isToWait(options)) {
    const bound = boundOf(account);
    if (options.dryRun === undefined && bound.length > 0)
      io.note(`Still bound until the operator has unbound them: ${listed(bound)}.`);
    return exitCode.ok;
  }
  return await waitUntilRevoked(invocation, cluster, changed);
}

async function revoke(
  invocation: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): Promise<readonly AnyObject[]> {
  const { name } = account.metadata;
  const [{ apiKeys: keys }, pods] = await Promise.all([
    readUsers(cluster, name),
    podsBySecret(cluster, cluster.namespace),
  ]);
  const missing = await missingSecrets(cluster, cluster.namespace, keys);
  const secrets = keys
    .filter((key) => accountInUse(key) === name)
    .flatMap(({ status }) => status?.secretName ?? []);
  const used = secrets.flatMap((secret) => pods?.get(`${cluster.namespace}/${secret}`) ?? []);
  const { io } = invocation;
  io.note(
    renderFields(
      [
        field("Account", accountText(account)),
        field("Unbinds", boundText(account)),
        field("Keys", ...keyLines(liveKeysOf(account, keys, missing))),
        field("Pods", podsText(used, pods !== undefined)),
      ],
      screenOf(io),
    ),
  );
  await confirm(
    invocation,
    `Every call with these keys will be denied. Revoke the access of ${name}?`,
  );
  return makeChanges(invocation, cluster, [revocationChange(account)]);
}

function podsText(users: readonly string[], mayList: boolean): string {
  if (!mayList) return "not known: you do not have permission to list Pods here";
  return users.length === 0 ? "none" : listed(users.map((pod) => `pod/${pod}`));
}
