import type { Random } from "../../src/util/random.ts";

/** Randomness that repeats itself: the same seed gives the same run. */
export interface SeededRandom extends Random {
  /** A whole number in [0, bound). */
  below(bound: number): number;
  /** One of `choices`, which must not be empty. */
  pick<T>(choices: readonly T[]): T;
  /** True in `share` of all cases. */
  chance(share: number): boolean;
  /** A generator of its own: what it is asked for does not change what this one gives. */
  fork(name: string): SeededRandom;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789";
const ID_LENGTH = 12;

export function seededRandom(seed: number | string): SeededRandom {
  const next = mulberry32(typeof seed === "number" ? seed : hashText(seed));
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    fraction: next,
    id: () => {
      let id = "";
      while (id.length < ID_LENGTH) id += LETTERS[below(LETTERS.length)];
      return id;
    },
    below,
    pick: (choices) => choices[below(choices.length)] as (typeof choices)[number],
    chance: (share) => next() < share,
    fork: (name) => seededRandom(`${name}:${seed}`),
  };
}

/** FNV-1a. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** 32 bits of state: enough for tests, and nothing else should use it. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
