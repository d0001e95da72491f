/** What the actions of a kind do: each is a read, an effect or a transition. */
import type { PlannedCall } from "../api/plan.ts";
import type { Times } from "./clock-reading.ts";
import type { KindTypes, Performed, Progress, ReadContext, RunContext } from "./run-context.ts";

interface StepFlags {
  /** Requires a cleanup later: the reconciler adds the finalizer first. */
  readonly needsFinalizer?: true;
  /** Carried out even for a suspended object and while the process stops. */
  readonly whileSuspended?: true;
}

/** Reads from the cluster, the console or the process. A plan does it too. Rejects at the first failure. */
export interface ReadStep<K extends KindTypes, Action> extends StepFlags {
  read(action: Action, progress: Progress<K>, run: ReadContext<K>): Promise<Performed<K>>;
}

/** Changes the console or the cluster. A plan goes on with an assumed answer instead. */
export interface Effect<K extends KindTypes, Action, Answer> extends StepFlags {
  /** The only part with side effects. Rejects at the first failure. */
  call(action: Action, progress: Progress<K>, run: RunContext<K>): Promise<Answer>;
  /** The answer that a plan assumes, and the line of the plan. */
  planned(
    action: Action,
    progress: Progress<K>,
    run: ReadContext<K>,
  ): MaybePromise<Planned<Answer>>;
  /** Pure. The progress after the answer. */
  after(action: Action, progress: Progress<K>, answer: Answer, at: Times): Performed<K>;
}

export interface Planned<Answer> {
  readonly answer: Answer;
  /** Absent if the effect changes only objects of the operator's own kinds. */
  readonly line?: PlannedCall | undefined;
}

/** Draws a conclusion from what the run knows. A plan does it too, but without `note`. */
export interface Transition<K extends KindTypes, Action> extends StepFlags {
  /** Updates data of the process that spans objects. */
  note?(action: Action, progress: Progress<K>): void;
  /** Pure. */
  after(action: Action, progress: Progress<K>, _: undefined, at: Times): Performed<K>;
}

export type Step<K extends KindTypes, Action> =
  | ReadStep<K, Action>
  | Effect<K, Action, unknown>
  | Transition<K, Action>;

export type Steps<K extends KindTypes> = {
  readonly [Kind in K["Action"]["kind"]]: Step<K, Extract<K["Action"], { readonly kind: Kind }>>;
};

export type MaybePromise<T> = T | Promise<T>;

export function stepOf<K extends KindTypes>(
  { steps }: { readonly steps: Steps<K> },
  { kind }: { readonly kind: K["Action"]["kind"] },
): Step<K, K["Action"]> {
  return steps[kind] as never;
}
