/** The version of one reflector's part of a store, and our own writes that are not in it yet. */
import { compareResourceVersions } from "../resource.ts";

interface Mark {
  readonly version: string;
  /** The number of the latest relist when the write was noted. */
  readonly generation: number;
}

/**
 * Tracks our own writes as marks. A watch delivers changes in version order, so a scope at version *v* has received
 * every write up to *v*. This settles marks even if there is no event for the object: after a write without changes, or
 * if the object no longer matches the selector or was deleted.
 *
 * Exception: if the stored object is older than our own write, the server of the watch has omitted its event. Such a
 * mark stays until a relist, which {@link StoreScope.hasMissed} requests.
 *
 * After a restore of etcd from an older snapshot, a mark could wait forever if only versions counted. Therefore a
 * relist settles every mark that was noted before the relist began, whatever its version: listings are consistent
 * reads.
 */
export class StoreScope {
  readonly #marks = new Map<string, Mark>();
  readonly #isBehind: (key: string, version: string) => boolean;
  #version: string | undefined;
  #generation = 0;
  #isRelisting = false;

  /** `isBehind`: whether the stored object exists and is older than the version. */
  constructor(isBehind: (key: string, version: string) => boolean) {
    this.#isBehind = isBehind;
  }

  /** `undefined` before the first complete listing. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Whether the event of one of our writes should have arrived but has not. */
  get hasMissed(): boolean {
    if (this.#isRelisting || this.#marks.size === 0) return false;
    return this.#marks.values().some((mark) => this.covers(mark.version));
  }

  isCurrent(key: string): boolean {
    return !this.#marks.has(key);
  }

  note(key: string, version: string): void {
    // During a relist, the server may have lost the version of our write.
    if (!this.#isRelisting && this.#isSettled(key, version)) return;
    const known = this.#marks.get(key);
    // The answers of two writes can be noted in either order.
    if (known !== undefined && compareResourceVersions(known.version, version) >= 0) return;
    this.#marks.set(key, { version, generation: this.#generation });
  }

  /** Whether the scope has received everything up to `version`, so that a replayed event adds nothing. */
  covers(version: string): boolean {
    return this.#version !== undefined && compareResourceVersions(version, this.#version) <= 0;
  }

  /** Must be called before a listing is requested. Returns the generation for {@link relisted}. */
  beginRelist(): number {
    this.#generation += 1;
    this.#isRelisting = true;
    return this.#generation;
  }

  relisted(generation: number, version: string): void {
    this.#version = version;
    this.#isRelisting = false;
    this.#settle((_key, mark) => mark.generation < generation || this.covers(mark.version));
  }

  /** Only moves forward; ignores older versions. */
  advance(version: string): void {
    if (this.covers(version)) return;
    this.#version = version;
    this.#settle((key, mark) => this.#isSettled(key, mark.version));
  }

  #isSettled(key: string, version: string): boolean {
    return this.covers(version) && !this.#isBehind(key, version);
  }

  #settle(isSettled: (key: string, mark: Mark) => boolean): void {
    for (const [key, mark] of this.#marks) if (isSettled(key, mark)) this.#marks.delete(key);
  }
}
