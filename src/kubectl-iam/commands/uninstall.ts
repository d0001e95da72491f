/**
 * `uninstall --dry-run`: shows what removing everything deletes and what stays, including valid keys in the console.
 */
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, UsageError } from "../cli/errors.ts";
import { openCluster } from "../cluster/cluster.ts";
import { noteLeader } from "../cluster/leader.ts";
import { missingSecrets } from "../cluster/missing-secrets.ts";
import { operatorNamespace } from "../cluster/operator.ts";
import { noteUnreadable, readWorld } from "../cluster/read.ts";
import { printTable } from "../view/output.ts";
import { type Remnant, remnantsOf } from "../view/remnants.ts";
import type { Cell, Column } from "../view/table.ts";

const columns: readonly Column<Remnant>[] = [
  { title: "NAMESPACE", cell: ({ namespace }) => namespace ?? "" },
  { title: "WHAT", cell: ({ what }) => what },
  { title: "STAYS", cell: staysCell },
  { title: "DETAIL", cell: ({ detail }) => detail, flexible: true },
];

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  if (options.printOnly === undefined)
    throw new UsageError(
      "this command needs --dry-run, which shows the objects that an uninstallation deletes and keeps; docs/uninstall.md has the commands",
    );
  await using cluster = await openCluster(io, options);
  const { world, unreadable } = await readWorld(cluster, undefined);
  await noteLeader(invocation, cluster);
  const missing = await missingSecrets(cluster, undefined, world.apiKeys);
  const known = { unreadable, missing, now: cluster.now() };
  const rows = remnantsOf(world, operatorNamespace(options), known);
  await printTable(invocation, { rows, columns, empty: "There is nothing of the operator here." });
  noteUnreadable(io, unreadable);
  const keys = rows.filter(({ kind, stays }) => kind === "Key" && stays).length;
  if (keys > 0)
    io.note(
      `\n${keys} key${keys === 1 ? "" : "s"} stay${keys === 1 ? "s" : ""} valid in the console: revoke access first (kubectl iam revoke-access), or delete them there.`,
    );
  const isBlocked = rows.some(({ waits }) => waits);
  if (keys > 0 || isBlocked) return exitCode.found;
  return unreadable.length > 0 ? exitCode.unknown : exitCode.ok;
}

function staysCell({ stays }: Remnant): Cell {
  if (stays === undefined) return { text: "unknown", style: "warning" };
  return stays ? { text: "yes", style: "warning" } : "no";
}
