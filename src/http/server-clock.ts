import { CLOCK_TOLERANCE_MS } from "../util/agreed-time.ts";
import { type Clock, DAY, type Instant, MINUTE, SECOND } from "../util/time.ts";
import { parseHttpDate } from "./http-date.ts";

/** A slower response does not tell the time: it may have been sent at any moment of the call. */
const SLOWEST_MS = MINUTE / 2;

/** A clock that contradicts all others for longer is the one that is wrong, and is not waited for. */
const OVERRULED_AFTER_MS = DAY;

/**
 * A server's clock, known by the `Date` of its responses. In between, it runs on the process's monotonic clock: steps
 * of the process's wall clock do not move it. A `Date` that contradicts earlier ones counts once the next one confirms
 * it.
 */
export class ServerClock {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  /** The server's time minus the monotonic time. */
  #offset: number | undefined;
  /** Another offset that one response alone has shown. */
  #doubtful: number | undefined;
  /** Since when it contradicts all others, by the monotonic clock. */
  #oddSince: number | undefined;

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
  }

  /** The server's time; `undefined` if it is unknown. */
  now(): Instant | undefined {
    return this.#offset === undefined ? undefined : this.#offset + this.#clock.monotonic();
  }

  /** Whether it has contradicted the time that all others agree on for a day. */
  get isOverruled(): boolean {
    const oddMs = this.#clock.monotonic() - (this.#oddSince ?? Number.POSITIVE_INFINITY);
    return oddMs >= OVERRULED_AFTER_MS;
  }

  /**
   * Notes a response that has just arrived. `sentAt` is when its request was sent, by the monotonic clock; `others` is the
   * time that all other clocks agree on, if they do.
   */
  note(headers: Readonly<Record<string, string>>, sentAt: number, others?: Instant): void {
    const receivedAt = this.#clock.monotonic();
    const offset = offsetOf(headers, this.#clock.now(), sentAt, receivedAt);
    if (offset === undefined) return;
    const isConfirmed = [this.#offset ?? offset, this.#doubtful].some(
      (known) => known !== undefined && Math.abs(offset - known) <= CLOCK_TOLERANCE_MS,
    );
    this.#doubtful = isConfirmed ? undefined : offset;
    if (isConfirmed) this.#offset = offset;
    const isOdd =
      others !== undefined && Math.abs((this.now() ?? others) - others) > CLOCK_TOLERANCE_MS;
    this.#oddSince = isOdd ? (this.#oddSince ?? receivedAt) : undefined;
  }
}

/** `undefined` if the response does not show the current time; a cached response has an `Age`. */
function offsetOf(
  { date, age }: Readonly<Record<string, string>>,
  now: Instant,
  sentAt: number,
  receivedAt: number,
): number | undefined {
  const shown = parseHttpDate(date, now);
  if (shown === undefined || age !== undefined || receivedAt - sentAt > SLOWEST_MS)
    return undefined;
  // A `Date` has whole seconds, so on average the real time is half a second later.
  return shown + SECOND / 2 - (sentAt + receivedAt) / 2;
}
