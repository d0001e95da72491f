import { type KubeObject, keyOf, keyText, type ObjectKey } from "../../kube/resource.ts";
import { type Clock, SECOND } from "../../util/time.ts";

/** Objects that are gone are not reconciled again; a gateway's 404 may have made one look as if it were. */
export const RELEASED_RECHECK_MS = 30 * SECOND;

interface View {
  readonly uid: string | undefined;
  readonly resourceVersion: string | undefined;
  /** Monotonic. */
  readonly until: number;
}

/**
 * Objects as they were when their finalizer was removed. The cache shows them until the watch tells, and no version of a
 * write stands for that: the API server answers the last removal with the version from before.
 */
export class ReleasedViews {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #views = new Map<string, View>();

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** The finalizer of this very version was removed. */
  note(object: KubeObject): void {
    const { uid, resourceVersion } = object.metadata;
    const until = this.#clock.monotonic() + RELEASED_RECHECK_MS;
    this.#views.set(keyText(keyOf(object)), { uid, resourceVersion, until });
  }

  /** Whether it was a moment ago, so that nothing is left to be done. */
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
