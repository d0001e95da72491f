/** Lets in who has a token with the right to read, and asks about each token seldom. */
import { createHash } from "node:crypto";
import { type Clock, MINUTE, SECOND } from "../util/time.ts";
import { type Guard, type Page, plain } from "./http-server.ts";

export interface ScrapeGuardOptions {
  /** Whether the holder of the token may read; rejects where nobody can tell. */
  readonly review: (token: string) => Promise<"Allowed" | "Forbidden" | "Unauthenticated">;
  readonly clock: Clock;
}

const KEEP_ALLOWED_MS = MINUTE;
/** A right that was just given should count soon. */
const KEEP_REFUSED_MS = 10 * SECOND;
const MAX_KEPT = 1_000;

const refusals = {
  Unauthenticated: plain(401, "a valid token is needed"),
  Forbidden: plain(403, "the right to get this path is needed"),
} as const;
const untold = plain(503, "the API server cannot say now whether this is allowed");

interface Answer {
  readonly page: Promise<Page | undefined>;
  until: number;
}

export function createScrapeGuard({ review, clock }: ScrapeGuardOptions): Guard {
  /** By the token's hash: the tokens themselves are not kept. */
  const known = new Map<string, Answer>();

  const ask = (id: string, token: string): Answer => {
    const answer: Answer = { page: decide(token), until: Number.POSITIVE_INFINITY };
    known.set(id, answer);
    const [oldest] = known.keys();
    if (known.size > MAX_KEPT && oldest !== undefined) known.delete(oldest);
    return answer;

    async function decide(secret: string): Promise<Page | undefined> {
      try {
        const access = await review(secret);
        const isAllowed = access === "Allowed";
        answer.until = clock.monotonic() + (isAllowed ? KEEP_ALLOWED_MS : KEEP_REFUSED_MS);
        return isAllowed ? undefined : refusals[access];
      } catch {
        answer.until = 0;
        return untold;
      }
    }
  };

  return (authorization = "") => {
    const token = /^bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) return Promise.resolve(refusals.Unauthenticated);
    const id = createHash("sha256").update(token).digest("base64");
    const answer = known.get(id);
    if (answer !== undefined && clock.monotonic() < answer.until) return answer.page;
    known.delete(id);
    return ask(id, token).page;
  };
}
