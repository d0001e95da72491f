interface ByteClaim {
  readonly owner: object;
  readonly bytes: number;
  readonly onGranted: () => void;
}

/**
 * Bounds the bytes of large answers in memory at the same time, for all clients together. First come, first served,
 * but each owner has at most one granted claim at a time, so no single peer can use the whole budget.
 */
export class ResponseMemoryLimiter {
  #free: number;
  readonly #waiting = new Set<ByteClaim>();
  readonly #granted = new Map<object, ByteClaim>();

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /**
   * Calls `onGranted` once there is room, possibly before this returns. The returned function releases the room, or
   * leaves the queue; it can be called more than once.
   */
  claim(owner: object, bytes: number, onGranted: () => void): () => void {
    const claim = { owner, bytes, onGranted };
    this.#waiting.add(claim);
    this.#grant();
    return () => this.#release(claim);
  }

  #release(claim: ByteClaim): void {
    this.#waiting.delete(claim);
    if (this.#granted.get(claim.owner) === claim) {
      this.#granted.delete(claim.owner);
      this.#free += claim.bytes;
    }
    this.#grant();
  }

  #grant(): void {
    for (const claim of this.#waiting) {
      if (this.#granted.has(claim.owner)) continue;
      // No claim overtakes a large claim; otherwise the large claim could wait forever.
      if (claim.bytes > this.#free) return;
      this.#waiting.delete(claim);
      this.#granted.set(claim.owner, claim);
      this.#free -= claim.bytes;
      claim.onGranted();
    }
  }
}
