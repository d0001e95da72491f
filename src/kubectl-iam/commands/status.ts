/** `status`: shows every object of a scope in one line, or one object on a screen. */

import type { ApiKey } from "../../api/api-key.ts";
import type { KindName } from "../../api/kinds.ts";
import { namespaceType } from "../../kube/resource-types.ts";
import { SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Failure, Unknown, UsageError } from "../cli/errors.ts";
import { type Cluster, openCluster, scopeOf } from "../cluster/cluster.ts";
import { isAbout, listEvents } from "../cluster/events.ts";
import { type AnyObject, findKind, nameOf, type ObjectName } from "../cluster/kinds.ts";
import { noteLeader, noteUnknownLeader } from "../cluster/leader.ts";
import { isMissing, lacksSecret, missingSecrets, secretOf } from "../cluster/missing-secrets.ts";
import {
  noteUnreadable,
  notListable,
  objectsOf,
  readObject,
  readWorld,
  unlessForbidden,
  type World,
} from "../cluster/read.ts";
import { usersOf } from "../cluster/relations.ts";
import { parseNames, resolveNames } from "../cluster/resolve.ts";
import { nextStep } from "../view/next-step.ts";
import { renderObject } from "../view/object-screen.ts";
import { isStructured, printTable, printValue } from "../view/output.ts";
import { readinessOf, readyCell } from "../view/readiness.ts";
import { screenOf } from "../view/screen.ts";
import type { Column } from "../view/table.ts";
import { namespaceColumn } from "../view/table.ts";
import { age } from "../view/time.ts";

const WATCH_EVERY_MS = 2 * SECOND;

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options, args } = invocation;
  if (options.watch && isStructured(invocation))
    throw new UsageError("--watch prints tables: leave out --output");
  const kind = args.length === 1 ? findKind(args[0] ?? "") : undefined;
  const given = kind === undefined ? parseNames(args) : [];
  if (given.length > 1)
    throw new UsageError("status shows one object or all objects: give at most one name");
  await using cluster = await openCluster(io, options);
  const [name] = await resolveNames(cluster, given);
  const show = () =>
    name === undefined ? showAll(invocation, cluster, kind) : showOne(invocation, cluster, name);
  return options.watch ? watch(invocation, show) : show();
}

/** Prints the status again whenever it has changed, until Ctrl-C. */
async function watch(invocation: Invocation, show: () => Promise<ExitCode>): Promise<ExitCode> {
  const { io } = invocation;
  let code = await show();
  const { clock, interrupted } = io;
  for (;;) {
    const isOver = await clock.sleep(WATCH_EVERY_MS, interrupted).then(
      () => false,
      () => true,
    );
    if (isOver) return code;
    io.print("");
    code = await show();
  }
}

interface Row {
  readonly namespace?: string | undefined;
  readonly kind: string;
  readonly name: string;
  readonly object: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly created: string | undefined;
  readonly isStalled: boolean;
  readonly next: string;
}

async function showAll(
  invocation: Invocation,
  cluster: Cluster,
  kind: KindName | undefined,
): Promise<ExitCode> {
  const { io, options } = invocation;
  const scope = scopeOf(cluster, options);
  const leader = await noteLeader(invocation, cluster);
  const { world, unreadable } = await readWorld(cluster, scope, {
    labelSelector: options.selector,
  });
  if (kind !== undefined && unreadable.includes(kind))
    throw new Unknown(notListable([kind], scope, undefined));
  const now = cluster.now();
  const shown = objectsOf(world).filter((object) =>
    kind === undefined ? scope === undefined || isOfScope(object, world) : object.kind === kind,
  );
  const areKeys = kind === undefined || kind === "ApiKey";
  const missing = await missingSecrets(cluster, scope, areKeys ? world.apiKeys : []);
  const isLost = (object: AnyObject) =>
    object.kind === "ApiKey" && lacksSecret(object as ApiKey, missing);
  const rows = shown.map((object): Row => {
    const { kind, metadata } = object;
    return {
      namespace: metadata.namespace,
      kind,
      name: metadata.name,
      object: nameOf(object),
      ...readinessOf(object),
      created: metadata.creationTimestamp,
      next: nextStep(object, world, now, isLost(object)).text,
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
  const isEmpty = shown.every(({ metadata }) => metadata.namespace === undefined);
  if (scope !== undefined && isEmpty) await requireNamespace(cluster, scope);
  const what = kind === undefined ? "objects of the operator" : `${kind}s`;
  const empty =
    scope === undefined
      ? `No ${what} in any namespace.`
      : `No ${what} in namespace ${scope}; -A shows all namespaces.`;
  await printTable(invocation, { rows, columns, empty, nameOf: ({ object }) => object });
  if (kind === undefined) noteUnreadable(io, unreadable);
  if (rows.length > 0) noteUnknownLeader(invocation, leader);
  const isFine = leader.kind !== "Lost" && rows.every(({ ready }) => ready === "True");
  return isFine && !shown.some(isLost) ? exitCode.ok : exitCode.found;
}

/** Whether the object is in the namespace of the world, or something in the namespace uses it. */
function isOfScope(object: AnyObject, world: World): boolean {
  return object.metadata.namespace !== undefined || usersOf(object, world).length > 0;
}

/** A namespace that cannot be read for lack of permission counts as existing. */
async function requireNamespace({ kube }: Cluster, name: string): Promise<void> {
  const found = await unlessForbidden(
    kube.get(namespaceType, { namespace: "", name }).then((namespace) => namespace ?? "none"),
  );
  if (found === "none")
    throw new Failure(
      `Namespace ${name} does not exist: kubectl get namespaces lists the namespaces.`,
    );
}

async function isSecretMissing(cluster: Cluster, apiKey: ApiKey): Promise<boolean> {
  const [secret] = secretOf(apiKey);
  return secret !== undefined && (await isMissing(cluster, secret));
}

async function showOne(
  invocation: Invocation,
  cluster: Cluster,
  { kind, name }: ObjectName,
): Promise<ExitCode> {
  const { io } = invocation;
  const object = await readObject(cluster, kind, name);
  const [leader, secretIsMissing] = await Promise.all([
    noteLeader(invocation, cluster),
    kind === "ApiKey" && isSecretMissing(cluster, object as ApiKey),
  ]);
  if (isStructured(invocation)) {
    await printValue(invocation, object, nameOf(object));
  } else {
    const { namespace = "" } = object.metadata;
    const [{ world, unreadable }, events] = await Promise.all([
      readWorld(cluster, namespace || undefined),
      unlessForbidden(listEvents(cluster, namespace || "default", name)),
    ]);
    const about = (events ?? []).filter((event) => isAbout(event, { kind, name }, object));
    const screen = screenOf(io);
    const now = cluster.now();
    io.print(
      renderObject({ object, world, unreadable, events: about, secretIsMissing, now }, screen),
    );
    noteUnreadable(io, unreadable);
  }
  noteUnknownLeader(invocation, leader);
  const isFine = leader.kind !== "Lost" && readinessOf(object).ready === "True";
  return isFine && !secretIsMissing ? exitCode.ok : exitCode.found;
}
