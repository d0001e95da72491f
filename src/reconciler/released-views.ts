import { type KubeObject, keyOf, keyText, type ObjectKey } from "../kube/resource.ts";
import { type Clock, SECOND } from "../util/time.ts";

/** A deleted object is not reconciled again. The check is repeated because a gateway's 404 can look like a deletion. */
export const RELEASED_RECHECK_MS = 30 * SECOND;

interface View {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Milliseconds of the monotonic clock. */
  readonly until: number;
}

/**
 * The object versions whose finalizer was removed. The cache has such an object until the watch reports its deletion.
 * The version in the write's response does not help: the API server answers the last removal with the previous version.
 */
export class ReleasedViews {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #views = new Map<string, View>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Call it after the finalizer of exactly this version was removed. */
  note(object: KubeObject): void {
    const { uid, resourceVersion } = object.metadata;
    const until = this.#clock.monotonic() + RELEASED_RECHECK_MS;
    this.#views.set(keyText(keyOf(object)), { uid, resourceVersion, until });
  }

  /** Whether the finalizer of this version was just removed, so that nothing is left to do. */
  has(object: KubeObject): boolean {
    const view = this.#views.get(keyText(keyOf(object)));
    return (
      view !== undefined &&
      view.uid === object.metadata.uid &&
      view.resourceVersion === object.metadata.resourceVersion &&
      this.#clock.monotonic() < view.until
    );
  }

  forget(key: ObjectKey): void {
    this.#views.delete(keyText(key));
  }
}
