/** Several tenants, each with a namespace and a console of its own, and one operator for all of them. */
import type { Config } from "../../../src/app/config.ts";
import { inWorld } from "../../real-world/in-world.ts";
import type { World } from "../../real-world/world.ts";

/** A test body with the operator in the first world, which works in the namespaces of `count` others as well. */
export function withNeighbours(
  count: number,
  body: (world: World, ...neighbours: World[]) => Promise<void>,
  config: Partial<Config> = {},
): () => Promise<void> {
  const open = (neighbours: readonly World[]): (() => Promise<void>) =>
    inWorld({ bare: true }, async (world) => {
      if (neighbours.length < count) return open([...neighbours, world])();
      const namespaces = [world, ...neighbours].map(({ namespace }) => namespace);
      // Calls that hang are not waited for in the end.
      await world.start({ namespaces, shutdownGrace: 0, ...config });
      return body(world, ...neighbours);
    });
  return open([]);
}
