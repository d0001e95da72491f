import type { Effect, Effects, Ended } from "../../../src/reconciler/effects.ts";
import type { KindTypes, ReadContext } from "../../../src/reconciler/run-context.ts";

/** By kind of effect: its answer, or a function from the snapshot before it. */
export type Script = Readonly<Record<string, unknown>>;

/**
 * The effects of a run, with their input, and its end: one after the other, as far as they are asked for. An effect is
 * answered from the script, or else as a plan assumes.
 */
export function* playRun<K extends KindTypes>(
  run: Effects<K, Ended<K>>,
  answers: Script = {},
  reading: Partial<ReadContext<K>> = {},
): Generator<object, undefined> {
  let next = run.next();
  while (!next.done) {
    const { input, does, snapshot } = next.value;
    const { kind } = does;
    yield { kind, ...(input as object) };
    const scripted = answers[kind];
    const given = typeof scripted === "function" ? scripted(snapshot, input) : scripted;
    next = run.next(kind in answers ? given : assumed(next.value, reading));
  }
  yield next.value.end;
  return undefined;
}

function assumed<K extends KindTypes>(
  { does, input, snapshot }: Effect<K>,
  reading: Partial<ReadContext<K>>,
): unknown {
  if ("read" in does) throw new Error(`the script has no answer to ${does.kind}`);
  const planned = does.planned(input, snapshot, reading as never);
  if (planned instanceof Promise) throw new Error(`the script has no answer to ${does.kind}`);
  return planned.answer;
}
