/** Creates an object and waits until it is ready, for `create` and `import`. */
import type { KindName } from "../../api/kinds.ts";
import type { KubeObject } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { toYaml } from "../view/output.ts";
import { printReadiness, readinessOf } from "../view/readiness.ts";
import { causeOfDelay } from "./chain.ts";
import { isToWait } from "./change.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, nameOf, typeOf } from "./kinds.ts";
import { type Missing, waitForAll } from "./wait.ts";

interface Words {
  /** Follows "created". */
  readonly about?: string;
  /** Follows the cause if the object cannot become ready. */
  readonly advice?: string;
}

export async function createObject(
  invocation: Invocation,
  cluster: Cluster,
  kind: KindName,
  object: object,
  { about = "", advice = "" }: Words = {},
): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.dryRun === "client") return printManifest(invocation, object);
  const isDryRun = options.dryRun === "server";
  const made = await cluster.kube.create<KubeObject>(typeOf(kind) as never, object as never, {
    dryRun: isDryRun,
  });
  const created = { ...made, kind } as AnyObject;
  io.print(`${nameOf(created)} created${about}${isDryRun ? " (server dry run)" : ""}`);
  if (!isToWait(options)) return exitCode.ok;
  return waitForAll(invocation, cluster, [created], {
    findMissing: (now) => missingReadiness(cluster, now, advice),
    done: (now) => printReadiness(io, now),
  });
}

async function missingReadiness(
  cluster: Cluster,
  object: AnyObject,
  advice: string,
): Promise<Missing | undefined> {
  if (readinessOf(object).ready === "True") return undefined;
  const cause = await causeOfDelay(cluster, object);
  return cause.isFinal ? { ...cause, text: `${cause.text}${advice}` } : cause;
}

export async function printManifest(
  { io, options }: Invocation,
  object: object,
): Promise<ExitCode> {
  io.print(options.output === "json" ? JSON.stringify(object, null, 2) : await toYaml(object));
  return exitCode.ok;
}
