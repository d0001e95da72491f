/** Changes of objects, as GitOps or kubectl could make them. */

import { objectPath } from "../../kube/client/api-path.ts";
import type { KubeObject, ResourceType } from "../../kube/resource.ts";
import type { Invocation } from "../cli/command.ts";
import { type Cluster, FIELD_MANAGER } from "./cluster.ts";

export interface Change {
  readonly type: ResourceType;
  /** As kubectl finds it, whatever else is called so: `apikeys.iam-operator.io`. */
  readonly resource: string;
  /** As a person names it: `apikey/ci-bot-key`. */
  readonly label: string;
  readonly namespace: string;
  readonly name: string;
  /** JSON merge patch. */
  readonly patch: object;
  readonly subresource?: "status";
  /** What has happened then: `rotation requested`. */
  readonly done: string;
}

/** Makes the changes one by one, or prints them with `--dry-run`; a line for each. Rejects with KubeError. */
export async function makeChanges(
  { io, options }: Invocation,
  cluster: Cluster,
  changes: readonly Change[],
): Promise<void> {
  for (const change of changes) {
    if (options.dryRun) io.print(toCommand(change));
    else {
      await send(cluster, change);
      io.print(`${change.label} ${change.done}`);
    }
  }
}

async function send(cluster: Cluster, change: Change): Promise<void> {
  const { type, namespace, name, patch, subresource } = change;
  if (subresource === undefined) {
    await cluster.kube.mergePatch<KubeObject>(type, { namespace, name }, patch);
    return;
  }
  await cluster.call({
    attempted: `patch ${type.plural}/${subresource} ${namespace}/${name}`,
    method: "PATCH",
    path: objectPath(type, { namespace, name }, subresource),
    query: { fieldManager: FIELD_MANAGER },
    contentType: "application/merge-patch+json",
    body: patch,
  });
}

/** The same change for kubectl. */
export function toCommand({ resource, namespace, name, patch, subresource }: Change): string {
  return [
    `kubectl patch ${resource} ${name}`,
    ...(namespace === "" ? [] : [`-n ${namespace}`]),
    ...(subresource === undefined ? [] : [`--subresource=${subresource}`]),
    `--type=merge -p ${quoted(JSON.stringify(patch))}`,
  ].join(" ");
}

/** One word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
