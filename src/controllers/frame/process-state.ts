/**
 * What this process knows about objects besides what is stored, by uid: an object that is made again under the same
 * name starts without. Losing it costs calls, never correctness; where a kind needs more, the kind says so.
 */
export class ProcessState<State> {
  readonly #states = new Map<string, State>();
  /** Object key → uid, for an object that is gone and says its name only. */
  readonly #uids = new Map<string, string>();

  of(uid: string): State | undefined {
    return this.#states.get(uid);
  }

  /** Remembers which object has the key now; forgets an earlier one of that name. */
  track(key: string, uid: string): void {
    const old = this.#uids.get(key);
    if (old !== undefined && old !== uid) this.#states.delete(old);
    this.#uids.set(key, uid);
  }

  set(uid: string, state: State | undefined): void {
    if (state === undefined) this.#states.delete(uid);
    else this.#states.set(uid, state);
  }

  /** The object with that key is gone. Answers the state it had. */
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
