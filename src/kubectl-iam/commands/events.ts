/** `events`: what happened to objects of ours, and with -w what happens. */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { type IamEvent, listEvents } from "../cluster/events.ts";
import { followEvents } from "../cluster/follow.ts";
import { type KindName, toText } from "../cluster/kinds.ts";
import { namespaceColumn } from "../view/namespace-column.ts";
import { styleOf } from "../view/object-screen.ts";
import { isStructured, printTable } from "../view/output.ts";
import { clean, screenOf } from "../view/screen.ts";
import { age } from "../view/time.ts";

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.watch && isStructured(invocation))
    throw new UsageError("--watch prints lines: leave out --output");
  await using cluster = await openCluster(io, options);
  const namespace = scopeOf(cluster, options);
  const now = io.clock.now();
  await printTable(invocation, {
    rows: await listEvents(cluster, namespace),
    columns: [
      { title: "LAST-SEEN", cell: ({ time }) => age(time, now) },
      ...namespaceColumn<IamEvent>(options),
      { title: "OBJECT", cell: (event) => objectOf(event) },
      { title: "REASON", cell: ({ reason, type }) => ({ text: reason, style: styleOf(type) }) },
      { title: "COUNT", cell: ({ count }) => String(count), wide: true },
      { title: "NOTE", cell: ({ note }) => note, flexible: true },
    ],
    empty: "There are no events about objects of the operator's.",
  });
  if (!options.watch) return exitCode.ok;
  const { paint } = screenOf(io);
  for await (const event of followEvents(cluster, namespace, io.interrupted)) {
    const where = options.allNamespaces ? `${event.namespace}  ` : "";
    const reason = paint(styleOf(event.type), event.reason);
    io.print(
      `${event.time.slice(0, 19)}Z  ${where}${objectOf(event)}  ${reason}  ${clean(event.note)}`,
    );
  }
  return exitCode.ok;
}

function objectOf({ kind, name }: IamEvent): string {
  return toText({ kind: kind as KindName, name });
}
