/** Creates an object and waits until it is ready, for `create` and `import`. */
import type { KindName } from "../../api/kinds.ts";
import { parseSpec } from "../../api/parse-spec.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Failure } from "../cli/errors.ts";
import { toYaml } from "../view/output.ts";
import { printReadiness, readinessOf } from "../view/readiness.ts";
import { causeOfDelay } from "./chain.ts";
import { isToWait } from "./change.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, kindOf, nameOf, type ObjectName, toText, typeOf } from "./kinds.ts";
import { unlessForbidden } from "./read.ts";
import { refsOf } from "./relations.ts";
import { type Missing, waitForAll } from "./wait.ts";

interface Words {
  /** Follows "created". */
  readonly about?: string;
}

export async function createObject(
  invocation: Invocation,
  cluster: Cluster,
  kind: KindName,
  object: object,
  { about = "" }: Words = {},
): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.dryRun === "client") return printManifest(invocation, object);
  if (isToWait(options)) await requireReferences(cluster, kind, object);
  const isDryRun = options.dryRun === "server";
  const made = await cluster.kube.create<KubeObject>(typeOf(kind) as never, object as never, {
    dryRun: isDryRun,
  });
  const created = { ...made, kind } as AnyObject;
  io.print(`${nameOf(created)} created${about}${isDryRun ? " (server dry run)" : ""}`);
  if (!isToWait(options)) return exitCode.ok;
  try {
    return await waitForAll(invocation, cluster, [created], {
      findMissing: (now) => missingReadiness(cluster, now),
      done: (now) => printReadiness(io, now),
    });
  } catch (error) {
    if (error instanceof Failure) io.note(howToUndo(created));
    throw error;
  }
}

function howToUndo(object: AnyObject): string {
  const { namespace } = object.metadata;
  const where = namespace === undefined ? "" : ` -n ${namespace}`;
  return `The object stays. To undo this: kubectl delete ${nameOf(object)}${where}`;
}

/** Rejects with Failure if waiting would not help, since the connection or the account does not exist. */
async function requireReferences(cluster: Cluster, kind: KindName, object: object): Promise<void> {
  const parsed = parseSpec(kindOf(kind), object);
  const { connectionRef, serviceAccountRef } = refsOf(parsed.ok ? parsed : {});
  if (connectionRef !== undefined) await requireObject(cluster, connectionRef);
  if (serviceAccountRef !== undefined)
    await requireObject(cluster, { kind: "ServiceAccount", ...serviceAccountRef });
}

/** An object that cannot be read counts as existing. */
async function requireObject(
  { kube, namespace }: Cluster,
  { kind, name }: ObjectName,
): Promise<void> {
  const type = typeOf(kind);
  const key = { namespace: type.namespaced ? namespace : "", name };
  const exists = await unlessForbidden(kube.get(type, key).then((found) => found !== undefined));
  if (exists === false)
    throw new Failure(
      `${toText({ kind, name })} does not exist, so nothing was created: create it first, or use --no-wait`,
    );
}

async function missingReadiness(cluster: Cluster, object: AnyObject): Promise<Missing | undefined> {
  if (readinessOf(object).ready === "True") return undefined;
  return await causeOfDelay(cluster, object);
}

export async function printManifest(
  { io, options }: Invocation,
  object: object,
): Promise<ExitCode> {
  io.print(options.output === "json" ? JSON.stringify(object, null, 2) : await toYaml(object));
  return exitCode.ok;
}
