/** A problem of an object that only its author can correct. Reported as `Stalled`. */
export class SpecError extends Error {
  override readonly name = "SpecError";
  /** One CamelCase word. */
  readonly reason: string;
  /** When to check again, in milliseconds, if the problem may disappear sooner than the usual half hour. */
  readonly resyncMs: number | undefined;

  constructor(reason: string, message: string, resyncMs?: number) {
    super(message);
    this.reason = reason;
    this.resyncMs = resyncMs;
  }
}
