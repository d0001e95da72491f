/** Which reconciles hold up the event loop, and with it the work of all other tenants. */
import { AsyncLocalStorage } from "node:async_hooks";
import { FirstNames } from "../util/first-names.ts";
import type { Clock } from "../util/time.ts";
import type { Tracer } from "../util/trace.ts";

/** The kind and namespace of a reconcile; both are empty for other work, such as garbage collection. */
export interface TurnOwner {
  readonly controller: string;
  readonly namespace: string;
}

interface LongTurnsOptions {
  readonly clock: Pick<Clock, "monotonic" | "setTimer">;
  /** The event loop was delayed by more than {@link LONGEST_TURN_MS}. */
  readonly onLongTurn: (owner: TurnOwner, delayMs: number) => void;
}

/** How long work of one tenant may take without a turn for the others. */
export const LONGEST_TURN_MS = 50;
const BEAT_MS = 20;
const NOBODY: TurnOwner = { controller: "", namespace: "" };

/**
 * While reconciles run, a timer measures the delay of the event loop. Each reconcile, and each call that it makes, begins
 * and ends with a mark; the longest piece before a mark has caused the delay.
 */
export class LongTurns {
  readonly #options: LongTurnsOptions;
  readonly #owner = new AsyncLocalStorage<TurnOwner>();
  readonly #series = new FirstNames();
  #running = 0;
  #isBeating = false;
  #markedAt = 0;
  #longestMs = 0;
  #longestOwner = NOBODY;

  constructor(options: LongTurnsOptions) {
    this.#options = options;
  }

  /** The tracer, which measures the spans too. */
  measure(tracer: Tracer): Tracer {
    const marked =
      (span: Tracer["span"]): Tracer["span"] =>
      async (name, fields, work) => {
        this.#mark();
        try {
          return await span(name, fields, work);
        } finally {
          this.#mark();
        }
      };
    const span = marked(tracer.span);
    return {
      span: (name, fields, work) =>
        this.#run({ controller: text(fields.controller), namespace: text(fields.namespace) }, () =>
          span(name, fields, work),
        ),
      childSpan: marked(tracer.childSpan),
    };
  }

  async #run<T>(owner: TurnOwner, work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    if (!this.#isBeating) this.#beatLater();
    try {
      return await this.#owner.run(owner, work);
    } finally {
      this.#running -= 1;
    }
  }

  #beatLater(): void {
    const { clock } = this.#options;
    this.#isBeating = true;
    this.#markedAt = clock.monotonic();
    this.#longestMs = 0;
    this.#longestOwner = NOBODY;
    const dueAt = this.#markedAt + BEAT_MS;
    clock.setTimer(BEAT_MS, () => this.#beat(dueAt));
  }

  #beat(dueAt: number): void {
    const { clock, onLongTurn } = this.#options;
    this.#mark(NOBODY);
    const delayMs = clock.monotonic() - dueAt;
    if (delayMs > LONGEST_TURN_MS) onLongTurn(this.#seriesOf(this.#longestOwner), delayMs);
    this.#isBeating = false;
    if (this.#running > 0) this.#beatLater();
  }

  #mark(owner = this.#owner.getStore() ?? NOBODY): void {
    const now = this.#options.clock.monotonic();
    const ms = now - this.#markedAt;
    this.#markedAt = now;
    if (ms <= this.#longestMs) return;
    this.#longestMs = ms;
    this.#longestOwner = owner;
  }

  /** Without the namespace once there are many series. */
  #seriesOf(owner: TurnOwner): TurnOwner {
    const { controller, namespace } = owner;
    return this.#series.has(`${controller} ${namespace}`) ? owner : { controller, namespace: "" };
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
