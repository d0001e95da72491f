/**
 * A run is a generator of effects. It calls nothing itself: it yields what to read or to change next, as data, and goes
 * on with the answer. A driver carries the effects out: `performEffect` in a run, `makePlan` in a plan.
 *
 * An effect makes the snapshot before it stale: what changes it returns the new one, and the run keeps no other. That
 * is also how the run learns of the finalizer that an effect has needed.
 */

import type { PlannedCall } from "../api/plan.ts";
import type { ResourceType } from "../kube/resource.ts";
import type { End, Failing } from "./rules/outcome.ts";
import type { EventOf, ReportedObject } from "./rules/report.ts";
import type { KindTypes, ReadContext, RunContext } from "./run-context.ts";

/** A run, or a part of it, and what it returns. */
export type Effects<K extends KindTypes, Result> = Generator<Effect<K>, Result, unknown>;

/** How a run ends, and what it knows then. */
export interface Ended<K extends KindTypes> {
  readonly snapshot: K["Snapshot"];
  readonly end: End | Failing;
}

/** The end of a run that returns it. */
export function endRun<K extends KindTypes>(
  snapshot: K["Snapshot"],
  end: Ended<K>["end"],
): Ended<K> {
  return { snapshot, end };
}

export interface Effect<K extends KindTypes> {
  readonly does: Read<K> | Change<K>;
  readonly input: unknown;
  /** What the run knows before the effect: the report of a failure is about it. */
  readonly snapshot: K["Snapshot"];
}

interface Named {
  readonly kind: string;
  /** Carried out even for a suspended object and while the process stops. */
  readonly whileSuspended?: boolean;
  /** Requires a cleanup later: the object gets the operator's finalizer first. */
  readonly needsFinalizer?: boolean;
}

/** Reads from the cluster, the console or the process. A plan does it too. Rejects at the first failure. */
interface Read<K extends KindTypes, Snapshot = K["Snapshot"], Input = unknown, Answer = unknown>
  extends Named {
  read(input: Input, snapshot: Snapshot, run: ReadContext<K>): Promise<Answered<K, Answer>>;
}

/** Changes the console, the cluster or the process. A plan goes on with an assumed answer instead. */
export interface Change<
  K extends KindTypes,
  Snapshot = K["Snapshot"],
  Input = unknown,
  Answer = unknown,
> extends Named {
  /** The only part that changes anything. Rejects at the first failure. */
  call(input: Input, snapshot: Snapshot, run: RunContext<K>): Promise<Answered<K, Answer>>;
  planned(
    input: Input,
    snapshot: Snapshot,
    run: ReadContext<K>,
  ): MaybePromise<Planned<Answer> & Pick<Answered<K>, "remember">>;
  /** Not worth a plan: the finalizer, and data of the process. */
  readonly isMinor?: boolean;
}

/** The answer that a plan assumes, and the line of the plan. */
export interface Planned<Answer> {
  readonly answer: Answer;
  /** Absent if the effect changes only objects of the operator's own kinds. */
  readonly line?: PlannedCall | undefined;
  /** The written object, if other kinds read it and the run does not report on it. */
  readonly written?: PlannedWrite;
}

export interface PlannedWrite {
  readonly type: ResourceType;
  readonly object: ReportedObject;
}

type MaybePromise<T> = T | Promise<T>;

/** An answer, with what the driver does about it before the run goes on. */
export interface Answered<K extends KindTypes, Answer = unknown> {
  readonly answer: Answer;
  readonly events?: readonly EventOf[] | undefined;
  /** Pure. How the process state changes: at once, even if the run fails later. */
  readonly remember?: ((before: K["State"] | undefined) => K["State"]) | undefined;
}

/** The part of a run that yields this effect and returns its answer. */
export function defineEffect<K extends KindTypes, Snapshot extends K["Snapshot"], Input, Answer>(
  does: Read<K, Snapshot, Input, Answer> | Change<K, Snapshot, Input, Answer>,
) {
  return function* (snapshot: Snapshot, input: Input): Effects<K, Answer> {
    return (yield { does, input, snapshot }) as Answer;
  };
}
