/** Waits until the operator has done what was asked for, with a line of progress. */
import { MINUTE, SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { Failure } from "../cli/errors.ts";
import type { Cluster } from "./cluster.ts";
import { type AnyObject, type KindName, toText, typeOf } from "./kinds.ts";

const DEFAULT_TIMEOUT = 10 * MINUTE;
const EVERY_MS = SECOND / 2;

/** What there is to wait for still; `undefined` once it is done. */
export type Missing<T> = (object: T) => string | undefined;

/**
 * Reads the object until nothing is missing any more; answers it as it is then. Throws Failure where it goes away
 * or takes too long, with what was missing last.
 */
export async function waitFor<T extends AnyObject>(
  { io, options }: Invocation,
  { kube }: Cluster,
  object: T,
  missing: Missing<T>,
): Promise<T> {
  const { clock, interrupted } = io;
  const { name, namespace = "" } = object.metadata;
  const about = toText({ kind: object.kind as KindName, name });
  const startedAt = clock.monotonic();
  const deadline = startedAt + (options.timeout ?? DEFAULT_TIMEOUT);
  try {
    for (;;) {
      const now = await kube.get(typeOf(object.kind as KindName), { namespace, name });
      if (now === undefined) throw new Failure(`${about} was deleted meanwhile.`);
      const left = missing(now as unknown as T);
      if (left === undefined) return now as unknown as T;
      if (clock.monotonic() > deadline) throw new Failure(`${about} is not there in time: ${left}`);
      const seconds = Math.round((clock.monotonic() - startedAt) / SECOND);
      io.progress(`${about}: ${left} (${seconds} s)`);
      await pause(clock.sleep(EVERY_MS, interrupted), about);
    }
  } finally {
    io.progress(undefined);
  }
}

async function pause(sleeping: Promise<void>, about: string): Promise<void> {
  await sleeping.catch(() => {
    throw new Failure(`No longer waiting for ${about}; the operator goes on.`);
  });
}
