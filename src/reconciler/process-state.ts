import { TenantMemory, type TenantValues } from "../util/tenant-memory.ts";

/**
 * What this process knows about objects in addition to the stored data, by uid: an object recreated with the same name
 * starts without state. State beyond the budget of the object's namespace is not kept. Losing the state costs calls,
 * never correctness; if a kind needs more, the kind documents it.
 */
export class ProcessState<State> {
  readonly #states: TenantValues<State>;
  /** Object key → uid, because only the key of a deleted object is known. */
  readonly #uids = new Map<string, string>();

  constructor(memory = new TenantMemory()) {
    this.#states = memory.open();
  }

  of(uid: string): State | undefined {
    return this.#states.get(uid);
  }

  /** Remembers which object has the key now; forgets an earlier object with the same key. */
  track(key: string, uid: string): void {
    const old = this.#uids.get(key);
    if (old !== undefined && old !== uid) this.#states.delete(old);
    this.#uids.set(key, uid);
  }

  set(uid: string, namespace: string, state: State | undefined): void {
    if (state === undefined) this.#states.delete(uid);
    else this.#states.set(uid, namespace, state);
  }

  /** Call it after the object with this key was deleted. Returns its uid, if the process knew the object. */
  forget(key: string): string | undefined {
    const uid = this.#uids.get(key);
    if (uid === undefined) return undefined;
    this.#states.delete(uid);
    this.#uids.delete(key);
    return uid;
  }
}
