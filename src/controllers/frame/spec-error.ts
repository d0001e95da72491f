/** What is wrong with an object in a way that only its author can mend. Becomes `Stalled`. */
export class SpecError extends Error {
  override readonly name = "SpecError";
  /** One CamelCase word. */
  readonly reason: string;
  /** Sooner than after half an hour it may be right again; milliseconds. */
  readonly resyncMs: number | undefined;

  constructor(reason: string, message: string, resyncMs?: number) {
    super(message);
    this.reason = reason;
    this.resyncMs = resyncMs;
  }
}
