import { inspect } from "node:util";

const REDACTED = "<redacted>";

/** Holds a secret that cannot print itself: only {@link Redacted.reveal} gives the value back. */
export class Redacted<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
