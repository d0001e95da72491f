interface ByteClaim {
  readonly owner: object | string;
  readonly bytes: number;
  readonly onGranted: () => void;
}

/**
 * Bounds the bytes of large answers in memory at the same time, for all clients together. Each owner has at most one
 * granted claim at a time, so no single peer can use the whole budget, and the owner whose last turn is longest ago comes
 * first.
 */
export class ResponseMemoryLimiter {
  #free: number;
  readonly #waiting = new Set<ByteClaim>();
  readonly #granted = new Map<object | string, ByteClaim>();
  /** By owner with a claim: the number of its last turn. */
  readonly #turns = new Map<object | string, number>();
  #turn = 0;

  constructor(bytes: number) {
    this.#free = bytes;
  }

  /**
   * Calls `onGranted` once there is room, possibly before this returns. The returned function releases the room, or
   * leaves the queue; it can be called more than once.
   */
  claim(owner: object | string, bytes: number, onGranted: () => void): () => void {
    const claim = { owner, bytes, onGranted };
    this.#waiting.add(claim);
    // An owner that comes now is behind those that wait.
    if (!this.#turns.has(owner)) this.#turns.set(owner, this.#turn);
    this.#grant();
    return () => this.#release(claim);
  }

  #release(claim: ByteClaim): void {
    this.#waiting.delete(claim);
    if (![...this.#waiting].some(({ owner }) => owner === claim.owner))
      this.#turns.delete(claim.owner);
    if (this.#granted.get(claim.owner) === claim) {
      this.#granted.delete(claim.owner);
      this.#free += claim.bytes;
    }
    this.#grant();
  }

  #grant(): void {
    const lastTurn = ({ owner }: ByteClaim) => this.#turns.get(owner) ?? 0;
    for (const claim of [...this.#waiting].toSorted((a, b) => lastTurn(a) - lastTurn(b))) {
      if (this.#granted.has(claim.owner)) continue;
      // No claim overtakes a large claim; otherwise the large claim could wait forever.
      if (claim.bytes > this.#free) return;
      this.#waiting.delete(claim);
      this.#granted.set(claim.owner, claim);
      this.#turn += 1;
      this.#turns.set(claim.owner, this.#turn);
      this.#free -= claim.bytes;
      claim.onGranted();
    }
  }
}
