/**
 * The API server's clock, as the Date headers of its answers show it. Times in objects are compared with this clock: the
 * clock of the user's machine may be wrong.
 */
import type { HttpResponse, SendHttp } from "../../http/http.ts";
import { parseHttpDate } from "../../http/http-date.ts";
import { type Clock, type Instant, SECOND } from "../../util/time.ts";

/** The header has whole seconds, and is written a little before the answer is sent. */
const UNCERTAIN_MS = 2 * SECOND;

export interface ServerClock {
  /** Sends, and learns from the answer. */
  readonly send: SendHttp;
  /** The local clock before the first answer, and after an answer without the header. */
  now(): Instant;
}

export function followServerClock(send: SendHttp, clock: Clock): ServerClock {
  let aheadMs = 0;
  return {
    send: async (request) => {
      const sentAt = clock.now();
      const response = await send(request);
      aheadMs = aheadOf(response, sentAt, clock.now());
      return response;
    },
    now: () => clock.now() + aheadMs,
  };
}

function aheadOf({ headers }: HttpResponse, sentAt: Instant, answeredAt: Instant): number {
  const date = parseHttpDate(headers.date, answeredAt);
  if (date === undefined) return 0;
  if (date < sentAt - UNCERTAIN_MS) return date - sentAt;
  return date > answeredAt + UNCERTAIN_MS ? date - answeredAt : 0;
}
