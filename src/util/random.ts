import { randomFillSync, randomInt } from "node:crypto";

/** The only source of randomness in the program. Tests and the simulation provide their own. */
export interface Random {
  /** A number in [0, 1). */
  fraction(): number;
  /** A new identifier of 12 lower-case letters and digits, for attempts and runs. */
  id(): string;
}

export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  id: () => nextRandom().toString(36).padStart(13, "0").slice(1),
};

/** Draws many at a time, because the system call costs more than the rest of an identifier. */
const drawn = new BigUint64Array(64);
let used = drawn.length;

function nextRandom(): bigint {
  if (used === drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  const next = drawn[used] ?? 0n;
  used += 1;
  return next;
}
