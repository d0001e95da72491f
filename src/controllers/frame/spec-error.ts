/** What is wrong with an object in a way that only its author can mend. Becomes `Stalled`. */
export class SpecError extends Error {
  override readonly name = "SpecError";
  /** One CamelCase word. */
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
