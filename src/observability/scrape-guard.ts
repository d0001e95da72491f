/** Admits clients whose token has permission to read, and rarely reviews the same token. */
import { createHash } from "node:crypto";
import { type Clock, MINUTE, SECOND } from "../util/time.ts";
import { type Guard, type Page, plain } from "./http-server.ts";

interface ScrapeGuardOptions {
  /** Reviews the permission of the token's holder; rejects if the result is unknown. */
  readonly review: (
    token: string,
    /** Whether the token was accepted before. */
    isKnown: boolean,
  ) => Promise<"Allowed" | "Forbidden" | "Unauthenticated">;
  readonly clock: Clock;
}

const KEEP_ALLOWED_MS = MINUTE;
/** A permission that was just granted must take effect soon. */
const KEEP_REFUSED_MS = 10 * SECOND;
const MAX_KEPT = 1_000;
/** Concurrent reviews, separately for previously accepted tokens and for all other tokens. */
const MAX_OPEN = 8;

const refusals = {
  Unauthenticated: plain(401, "a valid token is needed"),
  Forbidden: plain(403, "the permission to get this path is required"),
} as const;
const reviewFailed = plain(503, "the API server cannot check this permission now");
const busy = plain(503, "too many tokens are being checked");

type Answer = Promise<Page | undefined>;

export function createScrapeGuard({ review, clock }: ScrapeGuardOptions): Guard {
  // Stores hashes of the tokens, never the tokens. Rejected tokens, which anyone can produce in any number, do not
  // displace accepted tokens.
  const open = { known: new Map<string, Answer>(), other: new Map<string, Answer>() };
  const allowed = new Map<string, number>();
  const refused = new Map<string, { readonly page: Page; readonly until: number }>();

  const decide = async (id: string, token: string, isKnown: boolean): Answer => {
    try {
      const access = await review(token, isKnown);
      const now = clock.monotonic();
      if (access === "Allowed") keep(allowed, id, now + KEEP_ALLOWED_MS);
      else {
        allowed.delete(id);
        keep(refused, id, { page: refusals[access], until: now + KEEP_REFUSED_MS });
      }
      return access === "Allowed" ? undefined : refusals[access];
    } catch {
      return reviewFailed;
    } finally {
      (isKnown ? open.known : open.other).delete(id);
    }
  };

  return async (authorization = "") => {
    const token = /^bearer +([\x21-\x7e]+)$/i.exec(authorization)?.[1];
    if (token === undefined) return refusals.Unauthenticated;
    const id = createHash("sha256").update(token).digest("base64");
    const now = clock.monotonic();
    if (now < (allowed.get(id) ?? 0)) return undefined;
    const refusal = refused.get(id);
    if (refusal !== undefined && now < refusal.until) return refusal.page;
    const isKnown = allowed.has(id);
    const asking = isKnown ? open.known : open.other;
    const asked = asking.get(id);
    if (asked !== undefined) return asked;
    if (asking.size >= MAX_OPEN) return busy;
    const answer = decide(id, token, isKnown);
    asking.set(id, answer);
    return answer;
  };
}

/** If the map is full, removes its oldest entry. */
function keep<T>(answers: Map<string, T>, id: string, answer: T): void {
  answers.delete(id);
  answers.set(id, answer);
  const [oldest] = answers.keys();
  if (answers.size > MAX_KEPT && oldest !== undefined) answers.delete(oldest);
}
