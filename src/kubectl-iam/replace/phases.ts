/** The phases of a replacement. Each begins with what the objects show, so that a later run continues. */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import type { KindName } from "../../api/kinds.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Failure } from "../cli/errors.ts";
import { isGone } from "../cluster/bound-policies.ts";
import { readinessMissing } from "../cluster/chain.ts";
import { isToWait, makeChanges } from "../cluster/change.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { createObject } from "../cluster/create-object.ts";
import { type AnyObject, nameOf } from "../cluster/kinds.ts";
import { listed } from "../cluster/listed.ts";
import { readObject, readUsers } from "../cluster/read.ts";
import { revocationChange, waitUntilRevoked } from "../cluster/revocation.ts";
import { waitForAll } from "../cluster/wait.ts";
import { printReadiness } from "../view/readiness.ts";
import { movesOf, movingOf, type Plan, planReplacement, usesAccount } from "./plan.ts";
import { readAccount, readNamespace } from "./read.ts";
import { deliveryMissing, overlapMissing } from "./waits.ts";

export interface Phase {
  /** What is to be done: follows `Left to do:`. */
  readonly title: string;
  readonly run: (invocation: Invocation, cluster: Cluster, plan: Plan) => Promise<ExitCode>;
}

/** Keys of an account that the console no longer has do not work, so no Pod is waited for. */
export function phasesOf({ account, successor, moving }: Plan): readonly Phase[] {
  return [
    { title: `bind the policies of iamsa/${successor}`, run: bind },
    ...(moving.length === 0 ? [] : [movePhase(moving)]),
    ...(isGone(account)
      ? []
      : [{ title: "wait until no Pod uses an old key (--now does not wait)", run: waitForPods }]),
    { title: `revoke the access of ${nameOf(account)}`, run: revoke },
  ];
}

function movePhase(moving: readonly ApiKey[]): Phase {
  return { title: `move ${moving.map(nameOf).join(", ")}`, run: move };
}

/** What is to be done in these phases: the ApiKeys to move are those of now. Some may be moved already, or back. */
export async function titlesOf(
  cluster: Cluster,
  plan: Plan,
  left: readonly Phase[],
): Promise<readonly string[]> {
  const { account, successor } = plan;
  const objects = await readNamespace(cluster).catch(() => undefined);
  if (objects === undefined) return left.map(({ title }) => title);
  const moving = movingOf(account.metadata.name, successor, objects);
  return phasesOf({ ...plan, moving })
    .filter((phase) => phase.run === move || left.some(({ run }) => run === phase.run))
    .map(({ title }) => title);
}

async function bind(invocation: Invocation, cluster: Cluster, plan: Plan): Promise<ExitCode> {
  const options = { ...invocation.options, wait: false };
  for (const [index, object] of plan.missing.entries()) {
    if (index > 0 && options.dryRun === "client") invocation.io.print("---");
    await createObject({ ...invocation, options }, cluster, object.kind as KindName, object);
  }
  if (!isToWait(invocation.options)) return exitCode.ok;
  return waitUntilBound(invocation, cluster, plan, (now) => printReadiness(invocation.io, now));
}

async function waitUntilBound(
  invocation: Invocation,
  cluster: Cluster,
  { successor }: Plan,
  done: (now: AnyObject) => ExitCode,
): Promise<ExitCode> {
  const account = await readObject(cluster, "ServiceAccount", successor);
  const { policyBindings } = await readUsers(cluster, successor);
  const objects = [account, ...policyBindings] as readonly AnyObject[];
  const findMissing = (now: AnyObject) => readinessMissing(cluster, now);
  return waitForAll(invocation, cluster, objects, { findMissing, done });
}

async function move(invocation: Invocation, cluster: Cluster, plan: Plan): Promise<ExitCode> {
  const { io, options } = invocation;
  const { successor, moving } = plan;
  await makeChanges(invocation, cluster, movesOf(plan, options.now === true, io.clock.now()));
  if (!isToWait(options)) return exitCode.ok;
  return waitForAll(invocation, cluster, moving as readonly AnyObject[], {
    findMissing: (now) => deliveryMissing(cluster, now as ApiKey, successor),
    done: (now, before) => {
      const [keyId, former] = [now, before].map(keyIdOf);
      const was = keyId === former ? "" : ` (was ${former ?? "none"})`;
      io.print(`${nameOf(now)} has key ${keyId} of iamsa/${successor}${was}`);
      return exitCode.ok;
    },
  });
}

async function waitForPods(
  invocation: Invocation,
  cluster: Cluster,
  { account, successor }: Plan,
): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.now || !isToWait(options)) return exitCode.ok;
  const overlap = { account: account.metadata.name, successor, overlap: options.overlap };
  const { apiKeys } = await readNamespace(cluster);
  const moved = apiKeys.filter(({ spec }) => spec.serviceAccountRef.name === successor);
  return waitForAll(invocation, cluster, moved as readonly AnyObject[], {
    findMissing: (now) => overlapMissing(now as ApiKey, overlap, cluster.now()),
    done: (now) => {
      const pods = findCondition(now.status?.conditions, "ConsumersCurrent");
      if (pods?.status === "False")
        io.note(`${nameOf(now)}: ${pods.message} The overlap has passed.`);
      return exitCode.ok;
    },
  });
}

/** Revokes nothing while an ApiKey uses the account, or a policy of the successor is not bound. */
async function revoke(invocation: Invocation, cluster: Cluster, plan: Plan): Promise<ExitCode> {
  const { account, successor } = plan;
  if (isToWait(invocation.options)) {
    const { apiKeys } = await readNamespace(cluster);
    const users = apiKeys.filter((apiKey) => usesAccount(apiKey, account.metadata.name, successor));
    if (users.length > 0)
      throw new Failure(
        `${users.map(nameOf).join(", ")}: ${users.length === 1 ? "uses" : "use"} ${nameOf(account)}, so its access is not revoked.`,
      );
    const code = await waitUntilBound(invocation, cluster, plan, () => exitCode.ok);
    if (code !== exitCode.ok) return code;
    if (!invocation.options.now) await requireCopies(invocation, cluster, plan);
  }
  const changes = account.spec.access === "Revoked" ? [] : [revocationChange(account)];
  const [changed = account] = await makeChanges(invocation, cluster, changes);
  if (!isToWait(invocation.options)) return exitCode.ok;
  return waitUntilRevoked(invocation, cluster, [changed as AnyObject]);
}

/** The wait for Pods can last a day, and policies can be bound to the account meanwhile. */
async function requireCopies(
  invocation: Invocation,
  cluster: Cluster,
  { account, successor }: Plan,
): Promise<void> {
  const [now, objects] = await readAccount(invocation, cluster, account);
  const { missing } = planReplacement(now, objects, { ...invocation.options, name: successor });
  if (missing.length > 0)
    throw new Failure(
      `The policies of ${nameOf(account)} have changed meanwhile, so its access is not revoked. iamsa/${successor} lacks ${listed(missing.map(nameOf))}.`,
    );
}

function keyIdOf(apiKey: AnyObject): string | undefined {
  return (apiKey as ApiKey).status?.current?.keyId;
}
