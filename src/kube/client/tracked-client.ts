import { isKubeError } from "../errors.ts";
import { type KubeObject, keyOf, type ObjectKey, type ResourceType } from "../resource.ts";
import type { WriteTracker } from "../store/store.ts";
import type { KubeClient, WriteOptions } from "./client.ts";
import { toKubeReader } from "./reader.ts";

/**
 * Read your own writes: sends every write through the tracker of its type, if there is a tracker. Dry runs and
 * deletions return no new version of an object, so they are not tracked. After a conflict, the store waits for the
 * version that the server has: a watch that left out its event would otherwise let every later write fail too.
 */
export function trackWrites(
  client: KubeClient,
  trackerOf: (type: ResourceType) => WriteTracker | undefined,
): KubeClient {
  const track = <T extends KubeObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    options: WriteOptions | undefined,
    send: () => Promise<T>,
  ): Promise<T> => {
    const tracker = options?.dryRun === true ? undefined : trackerOf(type);
    if (tracker === undefined) return send();
    const readAgain = () => client.get(type, key, { signal: options?.signal });
    return tracker.track(key, send).catch(async (error) => {
      if (isKubeError(error, "Conflict")) await noteStored(tracker, readAgain);
      throw error;
    });
  };
  return {
    ...toKubeReader(client),
    create: (type, object, options) =>
      track(type, keyOf(object), options, () => client.create(type, object, options)),
    apply: (type, object, options) =>
      track(type, keyOf(object), options, () => client.apply(type, object, options)),
    mergePatch: (type, key, patch, options) =>
      track(type, key, options, () => client.mergePatch(type, key, patch, options)),
    replace: (type, object, options) =>
      track(type, keyOf(object), options, () => client.replace(type, object, options)),
    delete: (type, key, preconditions, options) => client.delete(type, key, preconditions, options),
  };
}

/** If the object cannot be read, the next conflict tries it again. */
async function noteStored(
  tracker: WriteTracker,
  read: () => Promise<KubeObject | undefined>,
): Promise<void> {
  const stored = await read().catch(() => undefined);
  if (stored !== undefined) tracker.note(stored);
}
