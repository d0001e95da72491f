/** What must hold after every event, whatever happened. */
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

/** [S14] */
export function strayCall(world: SimWorld): string | undefined {
  const [call] = world.console.unknownCalls;
  return call && `called ${call}, which the API description does not show`;
}
