import { randomBytes, randomInt } from "node:crypto";

/** The only source of randomness in the program. Tests and the simulation hand in their own. */
export interface Random {
  /** A number in [0, 1). */
  fraction(): number;
  /** A new identifier of 12 lower-case letters and digits, for attempts and runs. */
  id(): string;
}

export const systemRandom: Random = {
  fraction: () => randomInt(2 ** 32) / 2 ** 32,
  id: () => randomBytes(8).readBigUInt64BE().toString(36).padStart(13, "0").slice(1),
};
