/** `status`: every object of a scope in a line, or one object on a screen. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { listEvents } from "../cluster/events.ts";
import { type AnyObject, type KindName, parseObjectName, toText } from "../cluster/kinds.ts";
import { readObject, readWorld, unlessForbidden, type World } from "../cluster/read.ts";
import { namespaceColumn } from "../view/namespace-column.ts";
import { nextStep } from "../view/next-step.ts";
import { renderObject } from "../view/object-screen.ts";
import { isStructured, printTable, printValue } from "../view/output.ts";
import { readinessOf, readyCell } from "../view/readiness.ts";
import { screenOf } from "../view/screen.ts";
import type { Column } from "../view/table.ts";
import { age } from "../view/time.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const [text] = invocation.args;
  return text === undefined ? showAll(invocation) : showOne(invocation, text);
}

interface Row {
  readonly namespace?: string | undefined;
  readonly object: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly created: string | undefined;
  readonly isStalled: boolean;
  readonly next: string;
}

async function showAll(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const now = io.clock.now();
  const world = await readWorld(cluster, scopeOf(cluster, options), options.selector);
  const rows = objectsOf(world).map((object): Row => {
    const { kind, metadata } = object;
    return {
      namespace: metadata.namespace,
      object: toText({ kind: kind as KindName, name: metadata.name }),
      ...readinessOf(object),
      created: metadata.creationTimestamp,
      next: nextStep(object, world, now).text,
    };
  });
  const columns: readonly Column<Row>[] = [
    ...namespaceColumn<Row>(options),
    { title: "OBJECT", cell: ({ object }) => object },
    { title: "READY", cell: (row) => readyCell({ ...row, ready: row.ready as "True" }) },
    { title: "REASON", cell: ({ reason }) => reason },
    { title: "AGE", cell: ({ created }) => age(created, now), wide: true },
    { title: "NEXT", cell: ({ next }) => next, flexible: true },
  ];
  const empty = `There is nothing of the operator's in ${scopeText(invocation, cluster.namespace)}.`;
  await printTable(invocation, { rows, columns, empty });
  return rows.every(({ ready }) => ready === "True") ? exitCode.ok : exitCode.found;
}

function scopeText({ options }: Invocation, namespace: string): string {
  return options.allNamespaces ? "any namespace" : `namespace ${namespace}`;
}

function objectsOf(world: World): readonly AnyObject[] {
  return Object.values(world).flat() as readonly AnyObject[];
}

async function showOne(invocation: Invocation, text: string): Promise<ExitCode> {
  const { io, options } = invocation;
  const { kind, name } = parseObjectName(text);
  await using cluster = await openCluster(io, options);
  const object = await readObject(cluster, kind, name);
  if (isStructured(invocation)) {
    await printValue(invocation, object);
  } else {
    const { namespace = "" } = object.metadata;
    const [world, events] = await Promise.all([
      readWorld(cluster, namespace || undefined),
      unlessForbidden(listEvents(cluster, namespace || "default", name)),
    ]);
    const about = (events ?? []).filter((event) => event.kind === kind);
    const screen = screenOf(io);
    io.print(renderObject({ object, world, events: about, now: io.clock.now() }, screen));
  }
  return readinessOf(object as AnyObject).ready === "True" ? exitCode.ok : exitCode.found;
}
