/** What must hold after every event, whatever happened. */
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import type { SimWorld } from "../sim-world.ts";
import { pairOf, type StoredApiKey, targetOf } from "./view.ts";

/** [S2] From the first Ready on, what consumers find works. */
export function gapOf(world: SimWorld, apiKey: StoredApiKey): string | undefined {
  const secret = targetOf(world, apiKey);
  const pair = secret && pairOf(secret);
  if (pair === undefined) return "consumers find no pair";
  const refusal = world.console.world.whyKeyIsRefused(pair.keyId);
  return refusal && `the key that consumers find is refused: ${refusal}`;
}

/** The interval at which accounts are read, and the minute in which a key that was ended outside is replaced. */
export const REPLACED_MS = 6 * MINUTE + 5 * SECOND;

/** After a refused login, the next one may come this much later. */
const LOGIN_PAUSE_MS = 5 * MINUTE;

/** Whether an administrator ended the key that consumers find, and the operator may still be about to replace it. */
export function isEndedOutside(world: SimWorld, apiKey: StoredApiKey, usableMs: number): boolean {
  const secret = targetOf(world, apiKey);
  const endedAt = world.endedKeys.get((secret && pairOf(secret)?.keyId) ?? "");
  if (endedAt === undefined) return false;
  return world.kernel.elapsed - endedAt <= REPLACED_MS || usableMs <= REPLACED_MS + LOGIN_PAUSE_MS;
}

/** [S14] */
export function strayCall(world: SimWorld): string | undefined {
  const [call] = world.console.unknownCalls;
  return call && `called ${call}, which the API description does not show`;
}
