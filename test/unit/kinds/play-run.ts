import type { Effect, Effects, Ended } from "../../../src/reconciler/effects.ts";
import type { KindTypes } from "../../../src/reconciler/run-context.ts";

/**
 * The effects of a run, with their input, and its end: one after the other, as far as they are asked for. An effect is
 * answered from the script, or else as a plan assumes.
 */
export function* playRun<K extends KindTypes>(
  run: Effects<K, Ended<K>>,
  answers: Readonly<Record<string, unknown>> = {},
): Generator<object, undefined> {
  let next = run.next();
  while (!next.done) {
    const { input, does } = next.value;
    const { kind } = does;
    yield { kind, ...(input as object) };
    next = run.next(kind in answers ? answers[kind] : assumed(next.value));
  }
  yield next.value.end;
  return undefined;
}

function assumed<K extends KindTypes>({ does, input, known }: Effect<K>): unknown {
  if ("read" in does) throw new Error(`the script has no answer to ${does.kind}`);
  const planned = does.planned(input, known.snapshot, {} as never);
  if (planned instanceof Promise) throw new Error(`the script has no answer to ${does.kind}`);
  return planned.answer;
}
