/**
 * What this process knows about objects in addition to the stored data, by uid: an object recreated with the same name
 * starts without state. Losing the state costs calls, never correctness; if a kind needs more, the kind documents it.
 */
export class ProcessState<State> {
  readonly #states = new Map<string, State>();
  /** Object key → uid, because only the key of a deleted object is known. */
  readonly #uids = new Map<string, string>();

  of(uid: string): State | undefined {
    return this.#states.get(uid);
  }

  /** Remembers which object has the key now; forgets an earlier object with the same key. */
  track(key: string, uid: string): void {
    const old = this.#uids.get(key);
    if (old !== undefined && old !== uid) this.#states.delete(old);
    this.#uids.set(key, uid);
  }

  set(uid: string, state: State | undefined): void {
    if (state === undefined) this.#states.delete(uid);
    else this.#states.set(uid, state);
  }

  /** Call it after the object with this key was deleted. Returns the object's last state. */
  forget(key: string): State | undefined {
    const uid = this.#uids.get(key);
    if (uid === undefined) return undefined;
    const state = this.#states.get(uid);
    this.#states.delete(uid);
    this.#uids.delete(key);
    return state;
  }

  entries(): Iterable<readonly [uid: string, state: State]> {
    return this.#states.entries();
  }
}
