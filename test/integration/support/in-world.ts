import { World, type WorldOptions } from "./world.ts";

/** A test body with a world of its own, so that tests can run side by side. */
export function inWorld(
  options: WorldOptions,
  body: (world: World) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const world = await World.open(options);
    try {
      await body(world);
    } catch (error) {
      // What the test failed with counts, not what that leaves behind.
      await world.close().catch(() => undefined);
      throw error;
    }
    await world.close();
  };
}
