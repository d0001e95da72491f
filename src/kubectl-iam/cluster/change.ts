/** Changes to objects, the same that GitOps or kubectl could make. */

import { objectPath } from "../../kube/client/api-path.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import type { Options } from "../cli/options.ts";
import { type Cluster, FIELD_MANAGER } from "./cluster.ts";
import type { AnyObject } from "./kinds.ts";

export interface Change {
  readonly type: ResourceType;
  /** A name that is unambiguous for kubectl: `apikeys.iam-operator.io`. */
  readonly resource: string;
  /** The name in output: `iamkey/ci-bot-key`. */
  readonly label: string;
  readonly namespace: string;
  readonly name: string;
  /** JSON merge patch. */
  readonly patch: object;
  readonly subresource?: "status";
  /** What the output says after the change: `rotation requested`. */
  readonly done: string;
}

/**
 * Makes the changes one by one and prints a line for each. Returns the changed objects. With `--dry-run=client` the
 * changes are only printed as commands; with `server` the API server only validates them. Rejects with KubeError.
 */
export async function makeChanges(
  { io, options }: Invocation,
  cluster: Cluster,
  changes: readonly Change[],
): Promise<readonly AnyObject[]> {
  const { dryRun } = options;
  const changed: AnyObject[] = [];
  for (const change of changes) {
    if (dryRun === "client") io.print(toCommand(change));
    else {
      changed.push(await send(cluster, change, dryRun === "server"));
      io.print(`${change.label} ${change.done}${dryRun === "server" ? " (server dry run)" : ""}`);
    }
  }
  return changed;
}

/** Whether the command waits for the operator. */
export function isToWait({ dryRun, wait }: Options): boolean {
  return dryRun === undefined && wait !== false;
}

async function send(cluster: Cluster, change: Change, isDryRun: boolean): Promise<AnyObject> {
  const { type, namespace, name, patch, subresource } = change;
  const answer = await cluster.call({
    attempted: `patch ${type.plural}${subresource === undefined ? "" : `/${subresource}`} ${namespace}/${name}`,
    method: "PATCH",
    path: objectPath(type, { namespace, name }, subresource),
    query: { fieldManager: FIELD_MANAGER, ...(isDryRun ? { dryRun: "All" } : {}) },
    contentType: "application/merge-patch+json",
    body: patch,
  });
  return answer as unknown as AnyObject;
}

/** The same change as a kubectl command. */
function toCommand({ resource, namespace, name, patch, subresource }: Change): string {
  return [
    `kubectl patch ${resource} ${name}`,
    ...(namespace === "" ? [] : [`-n ${namespace}`]),
    ...(subresource === undefined ? [] : [`--subresource=${subresource}`]),
    `--type=merge -p ${quoted(JSON.stringify(patch))}`,
  ].join(" ");
}

/** Quotes the text as one word of a shell command. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
