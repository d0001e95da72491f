/** Waits until the operator has done the requested work, and reports what is missing until then. */

import type { KindName } from "../../api/kinds.ts";
import { isKubeError } from "../../kube/errors.ts";
import { ended } from "../../util/ended.ts";
import { MINUTE, SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { describeError } from "../cli/describe-error.ts";
import { type ExitCode, exitCode, Failure } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { type Change, isToWait, makeChanges } from "./change.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, nameOf, typeOf } from "./kinds.ts";
import { noteUnknownLeader, readLeader } from "./leader.ts";
import { operatorNamespace } from "./operator.ts";

export const DEFAULT_TIMEOUT = 10 * MINUTE;
const EVERY_MS = SECOND / 2;
/** A healthy operator finishes within this time, so nothing is printed before. */
const QUIET_MS = 3 * SECOND;
/** The operator may be about to create a missing Lease. */
const LEASE_EVERY_MS = 5 * SECOND;

/** What is missing. */
export interface Missing {
  readonly text: string;
  /** Waiting does not help, so the command ends. */
  readonly isFinal?: boolean;
  /** The report may be about the time before a change, so the command does not end because of it before this long. */
  readonly patienceMs?: number;
}

/** Reports that the operator has not observed the generation of `before` yet. Pure. */
export function unobserved(
  { status }: Pick<AnyObject, "status">,
  { metadata }: Pick<AnyObject, "metadata">,
): Missing | undefined {
  return (status?.observedGeneration ?? -1) >= (metadata.generation ?? 0)
    ? undefined
    : { text: "waiting for the operator to notice the change" };
}

interface Waiting {
  /** `undefined` once the work is done. `before` is the object as it was when the wait began. */
  readonly findMissing: (
    now: AnyObject,
    before: AnyObject,
  ) => Missing | undefined | Promise<Missing | undefined>;
  /** Prints the object once the work is done. The command exits with the highest status of all objects. */
  readonly done: (now: AnyObject, before: AnyObject) => ExitCode | Promise<ExitCode>;
}

/**
 * Makes the changes and, if the command waits for the operator, waits until their work is done. If the user has no
 * permission for one of several changes, prints that and makes the others.
 */
export async function changeAndWait(
  invocation: Invocation,
  cluster: Cluster,
  changes: readonly Change[],
  waiting: Waiting,
): Promise<ExitCode> {
  let refusal: ExitCode = exitCode.ok;
  const changed = await makeChanges(invocation, cluster, changes, (error) => {
    if (!isKubeError(error, "Forbidden") || changes.length === 1) throw error;
    invocation.io.note(`error: ${describeError(error).message}`);
    refusal = exitCode.failed;
  });
  const waited = isToWait(invocation.options)
    ? await waitForAll(invocation, cluster, changed, waiting)
    : exitCode.ok;
  return Math.max(refusal, waited) as ExitCode;
}

/**
 * Waits for the objects one after the other; they share one timeout. After the failure of one object, prints it and
 * waits for the rest. Warns once if no replica of the operator holds the Lease, even if nothing is missing.
 */
export async function waitForAll(
  invocation: Invocation,
  cluster: Cluster,
  objects: readonly AnyObject[],
  { findMissing, done }: Waiting,
): Promise<ExitCode> {
  const { io } = invocation;
  const startedAt = io.clock.monotonic();
  const watch = watchLeader(invocation, cluster);
  await watch(0);
  const codes: ExitCode[] = [];
  for (const object of objects)
    try {
      const now = await waitFor(invocation, cluster, object, findMissing, startedAt, watch);
      codes.push(await done(now, object));
    } catch (error) {
      io.progress(undefined);
      if (!(error instanceof Failure) || io.interrupted.aborted || objects.length === 1)
        throw error;
      io.note(`error: ${error.message}`);
      codes.push(exitCode.failed);
    }
  return Math.max(exitCode.ok, ...codes) as ExitCode;
}

async function waitFor(
  invocation: Invocation,
  { kube }: Cluster,
  object: AnyObject,
  findMissing: Waiting["findMissing"],
  begunAt: number,
  watchLease: (waitedMs: number) => Promise<void>,
): Promise<AnyObject> {
  const { io, options } = invocation;
  const { timeout = DEFAULT_TIMEOUT } = options;
  const { clock, interrupted } = io;
  const { name, namespace = "" } = object.metadata;
  const about = nameOf(object);
  const say = createReporter(io, about);
  const startedAt = clock.monotonic();
  for (;;) {
    const now = (await kube.get(typeOf(object.kind as KindName), { namespace, name })) as
      | AnyObject
      | undefined;
    if (now === undefined || isNamesake(now, object))
      throw new Failure(`${about} was deleted meanwhile.`);
    const missing = await findMissing(now, object);
    io.progress(undefined);
    if (missing === undefined) return now;
    const { text, isFinal, patienceMs = 0 } = missing;
    const elapsed = clock.monotonic() - begunAt;
    if (isFinal && elapsed >= patienceMs) throw new Failure(`${about}: ${text}`);
    if (elapsed > timeout) throw new Failure(`${about} was not done in time: ${text}`);
    const waited = clock.monotonic() - startedAt;
    await watchLease(waited);
    say(text, waited);
    await clock.sleep(EVERY_MS, interrupted).catch(() => {
      throw new Failure(`No longer waiting for ${about}: ${ended(text)} The operator continues.`);
    });
  }
}

/** Whether the object was deleted and created again. A manifest has no uid. */
function isNamesake(now: AnyObject, { metadata: { uid } }: AnyObject): boolean {
  return uid !== undefined && now.metadata.uid !== uid;
}

/** In a terminal, one line that is replaced; otherwise one line for each thing that stays missing. */
function createReporter(io: Io, about: string): (text: string, waitedMs: number) => void {
  let said: string | undefined;
  return (text, waitedMs) => {
    if (io.hasProgress) io.progress(`${about} (${Math.round(waitedMs / SECOND)} s): ${text}`);
    else if (waitedMs >= QUIET_MS && withoutIds(text) !== said) {
      said = withoutIds(text);
      io.note(`${about}: ${text}`);
    }
  };
}

/** Every retry of the operator has a new request ID, which is not a change. */
function withoutIds(text: string): string {
  return text.replaceAll(/\(request \S+\)/g, "");
}

/**
 * Reports an expired Lease at once. Reports a missing or an unreadable Lease only after a while, because the operator may
 * run.
 */
function watchLeader(
  invocation: Invocation,
  cluster: Cluster,
): (waitedMs: number) => Promise<void> {
  const { io, options } = invocation;
  const namespace = operatorNamespace(options);
  let nextAt = 0;
  let warned = false;
  return async (waitedMs) => {
    if (warned || waitedMs < nextAt) return;
    const leader = await readLeader(cluster, namespace);
    nextAt = waitedMs + LEASE_EVERY_MS;
    if (leader.kind === "Held") return;
    if (leader.kind !== "Lost" && waitedMs < LEASE_EVERY_MS) return;
    warned = true;
    if (leader.kind === "Lost")
      io.note(
        `warning: ${leader.text}, so nothing happens until a replica holds it: kubectl iam doctor`,
      );
    else noteUnknownLeader(invocation, leader);
  };
}
