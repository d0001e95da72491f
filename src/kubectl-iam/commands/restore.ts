/** `restore`: creates the missing objects of a backup, and reports whether every ApiKey has a key of the backup. */
import type { KindName } from "../../api/kinds.ts";
import { type KubeObject, keyOf, type ResourceType } from "../../kube/resource.ts";
import { SECOND } from "../../util/time.ts";
import { findImportGaps, type ImportGap } from "../backup/import-gaps.ts";
import { IMPORT_GRANT, withImports } from "../backup/imports.ts";
import { inOrder, titleOf, toManifest, typeOfManifest } from "../backup/manifest.ts";
import { outcomeOf } from "../backup/outcome.ts";
import { planRestore, type Step } from "../backup/plan.ts";
import type { Invocation } from "../cli/command.ts";
import { confirm } from "../cli/confirm.ts";
import { type ExitCode, exitCode, Failure, UsageError } from "../cli/errors.ts";
import { causeOfDelay } from "../cluster/chain.ts";
import { changeOf, isToWait, makeChanges } from "../cluster/change.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import { placed, readObjects } from "../cluster/given-objects.ts";
import { type AnyObject, isCustomResource, nameOf, typeOf } from "../cluster/kinds.ts";
import { readAll } from "../cluster/read-all.ts";
import { waitForAll } from "../cluster/wait.ts";
import { readinessOf } from "../view/readiness.ts";

/** A cause that manual action must remove is reported only after this time: it may be about the time before. */
const PATIENCE_MS = 15 * SECOND;

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.dryRun === "server")
    throw new UsageError(
      "--dry-run=server is not possible, because the API server refuses objects in namespaces that do not exist yet: use --dry-run",
    );
  if (options.filename === undefined) throw new UsageError("a backup is required: give -f FILE");
  const files = await readObjects(invocation);
  const foreign = files.find((object) => typeOfManifest(object) === undefined);
  if (foreign !== undefined)
    throw new UsageError(
      `${titleOf(foreign)} does not belong in a backup: restore cannot create it`,
    );
  await using cluster = await openCluster(io, options);
  const objects = inOrder(files.map((each) => placed(toManifest(each), cluster.namespace)));
  const steps = await planRestore(cluster, objects);
  for (const step of steps)
    if (step.kind === "Refuse") io.note(`error: ${titleOf(step.object)} ${step.why}.`);
  if (steps.some(({ kind }) => kind === "Refuse"))
    throw new Failure("Nothing was changed. Restore does not change objects that exist.");
  for (const step of steps)
    if (step.kind === "LeaveOut") io.note(`${titleOf(step.object)} is left out: ${step.why}.`);
  const changes = await create(invocation, cluster, steps);
  const isComplete = steps.every(({ kind }) => kind === "Exists");
  if (changes === 0)
    io.print(`Nothing to create: every object exists${isComplete ? "" : " or is left out"}.`);
  return isToWait(options) ? await report(invocation, cluster, steps) : exitCode.ok;
}

/** Creates what is missing, after a confirmation. Answers how many objects it has created or changed. */
async function create(
  invocation: Invocation,
  cluster: Cluster,
  steps: readonly Step[],
): Promise<number> {
  const { io, options } = invocation;
  const kept = steps.filter(({ kind }) => kind !== "LeaveOut").map(({ object }) => object);
  const gaps = await findImportGaps(cluster, kept);
  const missing = steps.filter(({ kind }) => kind === "Create").map(({ object }) => object);
  if (missing.length + gaps.length > 0)
    await confirm(
      invocation,
      `Create ${missing.length} objects in ${cluster.server}?${gaps.map(aboutGap).join("")} An operator of another cluster with the same accounts cannot be seen from here: stop it first.`,
    );
  for (const object of missing) {
    const type = typeOfManifest(object) as ResourceType<KubeObject>;
    if (options.dryRun === undefined) await cluster.kube.create(type, object);
    io.print(`${titleOf(object)} created${options.dryRun === undefined ? "" : " (dry run)"}`);
  }
  const changes = gaps.map(({ connection, namespaces }) =>
    changeOf(
      connection as AnyObject,
      { spec: { grants: withImports(connection.spec.grants, namespaces) } },
      `has grant ${IMPORT_GRANT}`,
    ),
  );
  await makeChanges(invocation, cluster, changes);
  return missing.length + changes.length;
}

function aboutGap({ connection, namespaces }: ImportGap): string {
  return ` Grant ${IMPORT_GRANT} is added to ${nameOf(connection as AnyObject)}: namespaces ${namespaces.join(", ")} can then import any account of organization ${connection.spec.orgId}.`;
}

/** Waits for the objects, and compares their accounts and keys with the backup. */
async function report(
  invocation: Invocation,
  cluster: Cluster,
  steps: readonly Step[],
): Promise<ExitCode> {
  const { io } = invocation;
  const restored = steps.filter(
    ({ kind, object }) => kind !== "LeaveOut" && isCustomResource(object),
  );
  const code = await waitForAll(
    invocation,
    cluster,
    restored.map(({ object }) => object as AnyObject),
    {
      findMissing: async (object) => {
        if (readinessOf(object).ready === "True") return undefined;
        return { patienceMs: PATIENCE_MS, ...(await causeOfDelay(cluster, object)) };
      },
      done: () => exitCode.ok,
    },
  );
  const outcomes = await readAll(restored, async (step) => {
    const type = typeOf(step.object.kind as KindName);
    return outcomeOf(step, (await cluster.kube.get(type, keyOf(step.object))) as AnyObject);
  });
  const keys = steps.filter(({ object }) => object.kind === "ApiKey").length;
  const ready = outcomes.filter(({ isReadyKey }) => isReadyKey).length;
  const newAccounts = outcomes.flatMap((outcome) => outcome.newAccounts);
  const newKeys = outcomes.flatMap((outcome) => outcome.newKeys);
  for (const line of [...newAccounts, ...newKeys]) io.note(`error: ${line}`);
  io.print(
    `ApiKeys Ready with a key of the backup: ${ready} of ${keys}. Accounts created: ${newAccounts.length}. Keys issued: ${newKeys.length}.`,
  );
  const isWhole = ready === keys && newAccounts.length + newKeys.length === 0;
  return Math.max(code, isWhole ? exitCode.ok : exitCode.found) as ExitCode;
}
