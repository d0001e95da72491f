/**
 * Lets one owner at a time have what belongs to a key. An owner that has to wait is queued, and enqueued for a
 * reconcile when its turn may have come: nobody blocks.
 */
export class KeyedMutex {
  readonly #locks = new Map<string, Lock>();
  readonly #enqueue: (owner: string) => void;

  /** `enqueue` is called with the owner whose turn may have come. */
  constructor(enqueue: (owner: string) => void) {
    this.#enqueue = enqueue;
  }

  holderOf(key: string): string | undefined {
    return this.#locks.get(key)?.holder;
  }

  /** Answers `undefined` where `owner` holds the key now; else who does, and `owner` is queued. */
  acquire(key: string, owner: string): string | undefined {
    const lock = this.#lockOf(key);
    if (lock.holder !== undefined && lock.holder !== owner) {
      lock.queue.add(owner);
      return lock.holder;
    }
    lock.holder = owner;
    lock.queue.delete(owner);
    if (lock.notified === owner) lock.notified = undefined;
    return undefined;
  }

  /** Queues `owner` until the next notification, though it could not use the key now if it had it. */
  enqueue(key: string, owner: string): void {
    this.#lockOf(key).queue.add(owner);
  }

  /** At the end of a run of `owner`: whatever it had of the key goes to the next one. */
  release(key: string, owner: string): void {
    const lock = this.#locks.get(key);
    if (lock === undefined) return;
    const wasHolder = lock.holder === owner;
    const wasNotified = lock.notified === owner;
    if (wasHolder) lock.holder = undefined;
    if (wasNotified) lock.notified = undefined;
    // One that was notified and waits again found something that the next one would find as well.
    if (wasHolder || (wasNotified && !lock.queue.has(owner))) this.notify(key);
    if (isIdle(lock)) this.#locks.delete(key);
  }

  /** `owner` is gone or cannot be worked on, whatever it waited for. */
  forget(owner: string): void {
    for (const [key, lock] of this.#locks) {
      lock.queue.delete(owner);
      this.release(key, owner);
    }
  }

  /** Enqueues the next one that waits, unless somebody holds the key or was notified already. */
  notify(key: string): void {
    const lock = this.#locks.get(key);
    if (lock === undefined || lock.holder !== undefined || lock.notified !== undefined) return;
    const [next] = lock.queue;
    if (next === undefined) return;
    lock.queue.delete(next);
    lock.notified = next;
    this.#enqueue(next);
  }

  #lockOf(key: string): Lock {
    const lock = this.#locks.get(key) ?? {
      holder: undefined,
      notified: undefined,
      queue: new Set(),
    };
    this.#locks.set(key, lock);
    return lock;
  }
}

interface Lock {
  holder: string | undefined;
  /** Enqueued, and not heard of since. */
  notified: string | undefined;
  readonly queue: Set<string>;
}

function isIdle({ holder, notified, queue }: Lock): boolean {
  return holder === undefined && notified === undefined && queue.size === 0;
}
