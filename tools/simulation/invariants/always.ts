/** What must hold after every event, whatever happened. */
import { DAY, MINUTE, SECOND } from "../../../src/util/time.ts";
import type { SimWorld } from "../sim-world.ts";
import { issuerOf, pairOf, placeOf, type StoredApiKey, targetOf } from "./view.ts";

/** [S2] From the first Ready on, what consumers find works. */
export function gapOf(world: SimWorld, apiKey: StoredApiKey): string | undefined {
  const secret = targetOf(world, apiKey);
  const pair = secret && pairOf(secret);
  if (pair === undefined) return "consumers find no pair";
  const refusal = world.console.world.whyKeyIsRefused(pair.keyId);
  if (expiresByWrongClock(world, pair.keyId)) return undefined;
  return refusal && `the key that consumers find is refused: ${refusal}`;
}

/** Nobody can make a console accept a key that has expired by its clock alone. */
function expiresByWrongClock({ console, kernel }: SimWorld, keyId: string): boolean {
  const { expirationTime = 0 } = console.world.keys.get(keyId) ?? {};
  return console.world.clock.now() >= expirationTime && kernel.now < expirationTime;
}

/** The interval at which accounts are read, and the minute in which a key that was ended outside is replaced. */
export const REPLACED_MS = 6 * MINUTE + 5 * SECOND;

/** Where no list tells that a key has ended: the longest time between two tries, and the three minutes to replace it. */
export const TRIED_MS = 63 * MINUTE + 5 * SECOND;

/** After a refused login or call, the next one may come this much later. */
const REFUSED_PAUSE_MS = 6 * MINUTE;

/** Whether an administrator ended the key that consumers find, and the operator may still be about to replace it. */
export function isEndedOutside(world: SimWorld, apiKey: StoredApiKey, usableMs: number): boolean {
  const secret = targetOf(world, apiKey);
  const endedAt = world.endedKeys.get((secret && pairOf(secret)?.keyId) ?? "");
  if (endedAt === undefined) return false;
  return (
    hasUsedUpItsKeys(world, apiKey) ||
    // After a response that cannot be read, no key is issued until somebody asks for one.
    apiKey.status?.unreadableResponse !== undefined ||
    isRefusedInTime(world, world.kernel.elapsed - endedAt, usableMs)
  );
}

/** Whether the console has issued as many keys within a day as its spec allows, lost ones included. */
function hasUsedUpItsKeys(world: SimWorld, apiKey: StoredApiKey): boolean {
  const issued = [...world.console.world.keys.values(), ...world.deletedKeys].filter(
    ({ description, issueTime }) =>
      issuerOf(description)?.key === placeOf(apiKey) &&
      world.console.world.clock.now() - issueTime < DAY,
  );
  return issued.length >= apiKey.spec.maxIssuesPerDay;
}

/** Whether an ApiKey may still be Ready although the console refuses its pair: for as long as docs/safety.md allows. */
export function isRefusedInTime(world: SimWorld, refusedMs: number, usableMs: number): boolean {
  const allowedMs = world.console.showsEndedKeys ? REPLACED_MS : TRIED_MS;
  return refusedMs <= allowedMs || usableMs <= allowedMs + REFUSED_PAUSE_MS;
}

/** [S14] */
export function strayCall(world: SimWorld): string | undefined {
  const [call] = world.console.unknownCalls;
  return call && `called ${call}, which the API description does not show`;
}
