/** `events`: lists events about the operator's custom resources; with -w follows them. */

import type { KindName } from "../../api/kinds.ts";
import type { Invocation } from "../cli/command.ts";
import { UsageError } from "../cli/errors.ts";
import { type Cluster, openCluster, scopeOf } from "../cluster/cluster.ts";
import { type IamEvent, isAbout, listEvents } from "../cluster/events.ts";
import { followEvents } from "../cluster/follow.ts";
import {
  type AnyObject,
  type ObjectName,
  parseObjectName,
  toText,
  typeOf,
} from "../cluster/kinds.ts";
import { findObject, unlessForbidden } from "../cluster/read.ts";
import { styleOf } from "../view/object-screen.ts";
import { isStructured, printTable } from "../view/output.ts";
import { clean, screenOf } from "../view/screen.ts";
import { namespaceColumn } from "../view/table.ts";
import { age } from "../view/time.ts";

export async function run(invocation: Invocation): Promise<void> {
  const { io, options } = invocation;
  if (options.watch && isStructured(invocation))
    throw new UsageError("--watch prints lines: leave out --output");
  const wanted = options.for === undefined ? undefined : parseObjectName(options.for);
  await using cluster = await openCluster(io, options);
  const isWanted = (event: IamEvent, objects: readonly AnyObject[] = []) =>
    wanted === undefined || isAbout(event, wanted, objects.find(isIn(event.namespace)));
  // Events about cluster-scoped objects are in the namespace default.
  const namespace = wanted?.kind === "ClusterConnection" ? "default" : scopeOf(cluster, options);
  const objects = wanted && (await objectsNamed(cluster, wanted, options.allNamespaces));
  const events = await listEvents(cluster, namespace);
  const now = cluster.now();
  await printTable(invocation, {
    rows: events.filter((event) => isWanted(event, objects)),
    columns: [
      { title: "LAST-SEEN", cell: ({ time }) => age(time, now) },
      ...namespaceColumn<IamEvent>(options),
      { title: "TYPE", cell: ({ type }) => ({ text: type, style: styleOf(type) }) },
      { title: "OBJECT", cell: (event) => objectOf(event) },
      { title: "REASON", cell: ({ reason }) => reason },
      { title: "COUNT", cell: ({ count }) => String(count), wide: true },
      { title: "NOTE", cell: ({ note }) => note, flexible: true },
    ],
    empty: `No events about ${wanted === undefined ? "objects of the operator" : toText(wanted)}.`,
  });
  if (!options.watch) return;
  const { paint } = screenOf(io);
  for await (const event of followEvents(cluster, namespace, io.interrupted)) {
    if (!isWanted(event)) continue;
    const where = options.allNamespaces ? `${event.namespace}  ` : "";
    const type = paint(styleOf(event.type), event.type);
    io.print(
      `${event.time.slice(0, 19)}Z  ${where}${type}  ${objectOf(event)}  ${clean(event.reason)}  ${clean(event.note)}`,
    );
  }
}

/** In several namespaces, several objects can have the name. Leaves out what cannot be read. */
async function objectsNamed(
  cluster: Cluster,
  { kind, name }: ObjectName,
  isEverywhere = false,
): Promise<readonly AnyObject[]> {
  const type = typeOf(kind);
  const found =
    isEverywhere && type.namespaced
      ? await unlessForbidden(cluster.kube.list(type, { fieldSelector: `metadata.name=${name}` }))
      : [await findObject(cluster, { kind, name })];
  return (found ?? []).filter((each) => each !== undefined) as readonly AnyObject[];
}

function isIn(namespace: string): (object: AnyObject) => boolean {
  return ({ metadata }) => (metadata.namespace ?? "") === namespace;
}

function objectOf({ kind, name }: IamEvent): string {
  return toText({ kind: kind as KindName, name });
}
