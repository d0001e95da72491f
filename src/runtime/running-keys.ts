export interface RunningKey {
  readonly startedAt: number;
  readonly group: string;
  readonly resource: string;
  readonly isUrgent: boolean;
  readonly isRequested: boolean;
}

/** The running keys, their start times (monotonic), and the number of running keys per resource. */
export class RunningKeys {
  readonly #running = new Map<string, RunningKey>();
  readonly #byResource = new Map<string, number>();

  get size(): number {
    return this.#running.size;
  }

  has(key: string): boolean {
    return this.#running.has(key);
  }

  /** Number of running keys of this resource. */
  at(resource: string): number {
    return this.#byResource.get(resource) ?? 0;
  }

  isRequested(key: string): boolean {
    return this.#running.get(key)?.isRequested ?? false;
  }

  start(key: string, running: RunningKey): void {
    this.#running.set(key, running);
    this.#byResource.set(running.resource, this.at(running.resource) + 1);
  }

  all(): Iterable<RunningKey> {
    return this.#running.values();
  }

  /** The entry of the ended key; `undefined` if the key was not running. */
  end(key: string): RunningKey | undefined {
    const running = this.#running.get(key);
    if (running === undefined) return undefined;
    const { resource } = running;
    this.#running.delete(key);
    const left = this.at(resource) - 1;
    if (left === 0) this.#byResource.delete(resource);
    else this.#byResource.set(resource, left);
    return running;
  }

  /** How long each key has run so far. */
  durationsMs(now: number): readonly number[] {
    return [...this.#running.values()].map(({ startedAt }) => now - startedAt);
  }
}
