interface ByteClaim {
  readonly owner: object;
  readonly bytes: number;
  readonly onGranted: () => void;
}

/**
 * Bounds how many bytes of large answers are held at a time, all clients together. First come, first served,
 * but each owner has one claim granted at a time: no single peer can take it all.
 */
export class AnswerBudget {
  #free: number;
  readonly #waiting = new Set<ByteClaim>();
  readonly #granted = new Map<object, ByteClaim>();

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /**
   * Calls `onGranted` once there is room, at once if there is some now. The returned function gives the room
   * back, or the place in the queue; it may be called more than once.
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
      // Nobody overtakes a large claim, or it would wait for ever.
      if (claim.bytes > this.#free) return;
      this.#waiting.delete(claim);
      this.#granted.set(claim.owner, claim);
      this.#free -= claim.bytes;
      claim.onGranted();
    }
  }
}
