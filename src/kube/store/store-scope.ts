/** How far one reflector's part of a store has come, and which of our own writes it has not seen yet. */
import { compareResourceVersions } from "../resource.ts";

interface Mark {
  readonly version: string;
  /** Which relist was the latest when the write was noted. */
  readonly era: number;
}

/**
 * A watch delivers changes in the order of their versions, so a scope that has come to version *v* has seen
 * every write up to *v*. That settles marks also where no event of the object itself ever comes: a write
 * that changed nothing, an object that no longer matches the selector, one that is deleted.
 *
 * An object that is still there in an older version than our own write is the exception: its event was left out
 * by whoever serves the watch. Such a mark stays until a relist, which {@link StoreScope.hasMissed} asks for.
 *
 * Versions alone would let a mark wait for ever once etcd was restored from an older snapshot. So a relist
 * settles every mark that was noted before it began, whatever its version: listings are consistent reads.
 */
export class StoreScope {
  readonly #marks = new Map<string, Mark>();
  readonly #isBehind: (key: string, version: string) => boolean;
  #version: string | undefined;
  #era = 0;
  #isRelisting = false;

  /** `isBehind`: whether the object is there, in an older version. */
  constructor(isBehind: (key: string, version: string) => boolean) {
    this.#isBehind = isBehind;
  }

  /** `undefined` before the first complete listing. */
  get version(): string | undefined {
    return this.#version;
  }

  /** Whether the event of a write of ours should have come, and has not. */
  get hasMissed(): boolean {
    if (this.#isRelisting || this.#marks.size === 0) return false;
    return this.#marks.values().some((mark) => this.covers(mark.version));
  }

  isCurrent(key: string): boolean {
    return !this.#marks.has(key);
  }

  note(key: string, version: string): void {
    // During a relist our own version may be one that the server has lost.
    if (!this.#isRelisting && this.#isSettled(key, version)) return;
    const known = this.#marks.get(key);
    // The answers to two writes may be noted in either order.
    if (known !== undefined && compareResourceVersions(known.version, version) >= 0) return;
    this.#marks.set(key, { version, era: this.#era });
  }

  /** Whether everything up to `version` has been seen: a replayed event brings nothing. */
  covers(version: string): boolean {
    return this.#version !== undefined && compareResourceVersions(version, this.#version) <= 0;
  }

  /** Called before a listing is asked for; the answer goes to {@link relisted}. */
  beginRelist(): number {
    this.#era += 1;
    this.#isRelisting = true;
    return this.#era;
  }

  relisted(era: number, version: string): void {
    this.#version = version;
    this.#isRelisting = false;
    this.#settle((_key, mark) => mark.era < era || this.covers(mark.version));
  }

  /** Moves forwards only. */
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
