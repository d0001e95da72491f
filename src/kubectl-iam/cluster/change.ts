/** Changes to objects, the same that GitOps or kubectl could make. */

import type { KindName } from "../../api/kinds.ts";
import { GROUP } from "../../api/meta.ts";
import type { ResourceType } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import type { Options } from "../cli/options.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, kindOf, nameOf, typeOf } from "./kinds.ts";
import { noteLeader } from "./leader.ts";

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
  readonly subresource?: "status" | undefined;
  /** What the output says after the change: `rotation requested`. */
  readonly done: string;
}

/** A change to one of the operator's custom resources. */
export function changeOf(
  object: AnyObject,
  patch: object,
  done: string,
  subresource?: "status",
): Change {
  const { kind, metadata } = object;
  return {
    type: typeOf(kind as KindName),
    label: nameOf(object),
    resource: `${kindOf(kind).plural}.${GROUP}`,
    namespace: metadata.namespace ?? "",
    name: metadata.name,
    patch,
    done,
    subresource,
  };
}

/**
 * Makes the changes one by one and prints a line for each. Returns the changed objects. With `--dry-run=client` the
 * changes are only printed as commands; with `server` the API server only validates them. With `--no-wait`, warns if no
 * replica leads. Rejects with KubeError, unless `onError` returns.
 */
export async function makeChanges(
  invocation: Invocation,
  cluster: Cluster,
  changes: readonly Change[],
  onError: (error: unknown) => void = rethrow,
): Promise<readonly AnyObject[]> {
  const { io } = invocation;
  const { dryRun } = invocation.options;
  const changed: AnyObject[] = [];
  for (const change of changes) {
    if (dryRun === "client") {
      io.print(toCommand(change));
      continue;
    }
    const { type, namespace, name, patch, subresource, label, done } = change;
    const isDryRun = dryRun === "server";
    const options = { dryRun: isDryRun, subresource };
    const answer = await cluster.kube
      .mergePatch(type, { namespace, name }, patch, options)
      .catch(onError);
    if (answer === undefined) continue;
    changed.push(answer as AnyObject);
    io.print(`${label} ${done}${isDryRun ? " (server dry run)" : ""}`);
  }
  if (invocation.options.wait === false && changed.length > 0)
    await noteLeader(invocation, cluster);
  return changed;
}

function rethrow(error: unknown): never {
  throw error;
}

/** Whether the command waits for the operator. */
export function isToWait({ dryRun, wait }: Options): boolean {
  return dryRun === undefined && wait !== false;
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
