/** Detects the outage of a console from the results of regular calls. */
import { WEB_PAGE } from "../../console/errors.ts";
import { type Clock, type Instant, SECOND } from "../../util/time.ts";

/** A single failed call is not an outage: calls must fail for this long without any answer below 500. */
const OUTAGE_MS = 15 * SECOND;

export interface Outage {
  readonly since: Instant;
  /** The failure of the calls: an HTTP status, the code of an IamError, or WEB_PAGE. */
  readonly code: string;
}

const FAILURES: ReadonlySet<string> = new Set(["Unavailable", "Timeout", WEB_PAGE]);

export class OutageWatch {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #onChange: () => void;
  /** By the monotonic clock. */
  #failingSince: number | undefined;
  #outage: Outage | undefined;

  /** `onChange` is called when an outage begins and when it ends. */
  constructor(clock: Pick<Clock, "now" | "monotonic">, onChange: () => void) {
    this.#clock = clock;
    this.#onChange = onChange;
  }

  get outage(): Outage | undefined {
    return this.#outage;
  }

  /** Notes the end of a request: `code` is the status of its answer, WEB_PAGE, or the IamErrorCode if there was no answer. */
  note(code: string): void {
    const status = Number(code);
    if (status < 500) this.#end();
    else if (status >= 500 || FAILURES.has(code)) this.#fail(code);
  }

  #end(): void {
    this.#failingSince = undefined;
    if (this.#outage === undefined) return;
    this.#outage = undefined;
    this.#onChange();
  }

  #fail(code: string): void {
    const now = this.#clock.monotonic();
    this.#failingSince ??= now;
    const failingMs = now - this.#failingSince;
    if (this.#outage !== undefined || failingMs < OUTAGE_MS) return;
    this.#outage = { since: this.#clock.now() - failingMs, code };
    this.#onChange();
  }
}
