/** Waits until the operator has done what was asked for, and reports what is missing until then. */

import type { KindName } from "../../api/kinds.ts";
import { MINUTE, SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode, Failure } from "../cli/errors.ts";
import type { Io } from "../cli/io.ts";
import { operatorNamespace } from "../console/from-cluster.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, toText, typeOf } from "./kinds.ts";
import { readLeader } from "./leader.ts";

const DEFAULT_TIMEOUT = 10 * MINUTE;
const EVERY_MS = SECOND / 2;
/** A healthy operator is done by then, and nothing needs to be said. */
const QUIET_MS = 3 * SECOND;
/** A Lease that is not there yet may be about to be created. */
const LEASE_EVERY_MS = 5 * SECOND;

/** What is missing. `isFinal`: waiting does not bring it, so the command ends. */
export interface Missing {
  readonly text: string;
  readonly isFinal?: boolean;
}

/** What there is to wait for still; `undefined` once it is done. */
export type Look<T> = (object: T) => Missing | undefined | Promise<Missing | undefined>;

export interface Waiting<T> {
  readonly look: Look<T>;
  /** What to print of the object once it is done. The exit status is the highest of all objects. */
  readonly done: (object: T) => ExitCode | Promise<ExitCode>;
}

/**
 * Waits for one object after the other, within the time that is given for all of them. A failure of one is printed, and
 * the others are waited for. Warns once if no replica of the operator holds the Lease.
 */
export async function waitForAll<T extends AnyObject>(
  invocation: Invocation,
  cluster: Cluster,
  objects: readonly T[],
  { look, done }: Waiting<T>,
): Promise<ExitCode> {
  const { io, options } = invocation;
  const startedAt = io.clock.monotonic();
  const deadline = startedAt + (options.timeout ?? DEFAULT_TIMEOUT);
  const watch = watchLeader(invocation, cluster);
  const codes: ExitCode[] = [];
  for (const object of objects)
    try {
      codes.push(await done(await waitFor(invocation, cluster, object, look, deadline, watch)));
    } catch (error) {
      io.progress(undefined);
      if (!(error instanceof Failure) || io.interrupted.aborted || objects.length === 1)
        throw error;
      io.note(`error: ${error.message}`);
      codes.push(exitCode.failed);
    }
  return Math.max(exitCode.ok, ...codes) as ExitCode;
}

async function waitFor<T extends AnyObject>(
  invocation: Invocation,
  { kube }: Cluster,
  object: T,
  look: Look<T>,
  deadline: number,
  watchLease: (waitedMs: number) => Promise<void>,
): Promise<T> {
  const { io } = invocation;
  const { clock, interrupted } = io;
  const { name, namespace = "" } = object.metadata;
  const about = toText({ kind: object.kind as KindName, name });
  const say = createReporter(io, about);
  const startedAt = clock.monotonic();
  for (;;) {
    const now = await kube.get(typeOf(object.kind as KindName), { namespace, name });
    if (now === undefined) throw new Failure(`${about} was deleted meanwhile.`);
    const missing = await look(now as unknown as T);
    io.progress(undefined);
    if (missing === undefined) return now as unknown as T;
    const { text, isFinal } = missing;
    if (isFinal) throw new Failure(`${about}: ${text}`);
    if (clock.monotonic() > deadline) throw new Failure(`${about} was not done in time: ${text}`);
    const waited = clock.monotonic() - startedAt;
    await watchLease(waited);
    say(text, waited);
    await clock.sleep(EVERY_MS, interrupted).catch(() => {
      throw new Failure(`No longer waiting for ${about}: ${text}. The operator continues.`);
    });
  }
}

/** In a terminal one line that is replaced; elsewhere a line for each thing that is missing for long. */
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

/** Every try of the operator is another request of the console, and no news. */
function withoutIds(text: string): string {
  return text.replaceAll(/\(request \S+\)/g, "");
}

/** A Lease that expired is reported at once; a missing one only if nothing happens, since it may be elsewhere. */
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
    const { kind, text } = await readLeader(cluster, namespace, io.clock.now());
    nextAt = waitedMs + LEASE_EVERY_MS;
    if (kind !== "Lost" && (kind !== "None" || waitedMs < LEASE_EVERY_MS)) return;
    warned = true;
    const elsewhere =
      kind === "None"
        ? "; if it runs in another namespace, name that with --operator-namespace"
        : ", so nothing happens until a replica holds it";
    io.note(`warning: ${text}${elsewhere}: kubectl iam doctor`);
  };
}
