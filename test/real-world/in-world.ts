import type { Servers } from "./servers.ts";
import { connectShared } from "./use-servers.ts";
import { World, type WorldOptions } from "./world.ts";

/** One connection for all worlds of a test process. */
let shared: Promise<Servers> | undefined;

interface InWorldOptions extends WorldOptions {
  /** Neither a Connection nor a manager yet. */
  readonly bare?: boolean;
}

/** A world on the API server of all tests, with a Connection and a manager in this process. */
export async function openWorld({ bare, ...options }: InWorldOptions = {}): Promise<World> {
  shared ??= connectShared();
  const world = await World.open(await shared, options);
  if (bare === true) return world;
  await world.connect();
  await world.start();
  return world;
}

/** A test body with a world of its own, so that tests can run side by side. */
export function inWorld(
  options: InWorldOptions,
  body: (world: World) => Promise<void>,
): () => Promise<void> {
  return async () => {
    const world = await openWorld(options);
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
