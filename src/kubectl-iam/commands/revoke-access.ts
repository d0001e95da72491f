/** `revoke-access`: unbinds every policy of an account, and waits until no policy is bound. */
import { type Condition, findCondition } from "../../api/conditions.ts";
import type { ServiceAccount } from "../../api/service-account.ts";
import { truncateList } from "../../util/truncate-list.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { reportedCauseOfDelay } from "../cluster/chain.ts";
import { changeOf, isToWait, makeChanges } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf, parseNameOf } from "../cluster/kinds.ts";
import { keyLines, liveKeysOf } from "../cluster/live-keys.ts";
import { podsBySecret } from "../cluster/pods.ts";
import { readObject, readUsers } from "../cluster/read.ts";
import { type Missing, unobserved, waitForAll } from "../cluster/wait.ts";
import { field, renderFields } from "../view/fields.ts";
import { screenOf } from "../view/screen.ts";

const MOST_NAMES = 10;

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
  return await waitForAll(invocation, cluster, changed, {
    findMissing: (now, before) => missingOf(cluster, now as ServiceAccount, before),
    done: (now) => {
      io.print(revokedText(now as ServiceAccount));
      return exitCode.ok;
    },
  });
}

async function revoke(
  invocation: Invocation,
  cluster: Cluster,
  account: ServiceAccount,
): Promise<readonly AnyObject[]> {
  const { name } = account.metadata;
  const [users, pods] = await Promise.all([
    readUsers(cluster, name),
    podsBySecret(cluster, cluster.namespace),
  ]);
  const keys = users.apiKeys;
  const secrets = keys.flatMap(({ status }) => status?.secretName ?? []);
  const used = secrets.flatMap((secret) => pods?.get(`${cluster.namespace}/${secret}`) ?? []);
  const { io } = invocation;
  io.note(
    renderFields(
      [
        field("Account", account.status?.saId ?? "not in the console yet"),
        field("Unbinds", listed(boundOf(account)) || "no known policy"),
        field("Keys", ...keyLines(liveKeysOf(account, keys))),
        field("Pods", podsText(used, pods !== undefined)),
      ],
      screenOf(io),
    ),
  );
  await confirm(
    invocation,
    `Every call with these keys will be denied. Revoke the access of ${name}?`,
  );
  const change = changeOf(account, { spec: { access: "Revoked" } }, "access is being revoked");
  return makeChanges(invocation, cluster, [change]);
}

function podsText(users: readonly string[], mayList: boolean): string {
  if (!mayList) return "not known: you do not have permission to list Pods here";
  return users.length === 0 ? "none" : listed(users.map((pod) => `pod/${pod}`));
}

function listed(names: readonly string[]): string {
  return truncateList(names, MOST_NAMES);
}

function boundOf({ status }: ServiceAccount): readonly string[] {
  const { policyIds = [], foreignPolicyIds = [] } = status?.bindings ?? {};
  return [...policyIds, ...foreignPolicyIds];
}

async function missingOf(
  cluster: Cluster,
  account: ServiceAccount,
  before: AnyObject,
): Promise<Missing | undefined> {
  const { saId } = account.status ?? {};
  const unseen = unobserved(account, before);
  if (unseen === undefined && (saId === undefined || revocationOf(account)?.status === "True"))
    return undefined;
  const bound = listed(boundOf(account));
  const cause = await reportedCauseOfDelay(cluster, account as AnyObject, unseen);
  const left = bound === "" ? "not confirmed yet" : `still bound: ${bound}`;
  return { ...cause, text: `${left}; ${cause.text}` };
}

function revokedText(account: ServiceAccount): string {
  const name = nameOf(account);
  if (account.status?.saId === undefined)
    return `${name} does not have an account in the console yet; its policies will not be bound`;
  return `${name}: ${revocationOf(account)?.message}`;
}

function revocationOf({ status }: ServiceAccount): Condition | undefined {
  return findCondition(status?.conditions, "AccessRevoked");
}
