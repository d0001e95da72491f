import { inspect } from "node:util";

const REDACTED = "<redacted>";

/** Holds a secret that does not print itself: only {@link Redacted.reveal} returns the value. */
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
