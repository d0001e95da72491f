import { isIamError } from "../errors.ts";
import { codeOfStatus, type Exchanged } from "../exchange/failures.ts";
import type { AccessToken } from "./session.ts";

/**
 * Whether a 401 is about the login or about its call alone. Anyone whose objects make calls with a shared login can cause
 * a 401 by what the call names; only a token that a neutral call cannot use either is given up.
 */
export class TokenChecks {
  readonly #check: (token: AccessToken) => Promise<Exchanged>;
  readonly #running = new Map<number, Promise<boolean>>();

  /** `check` makes the neutral call. */
  constructor(check: (token: AccessToken) => Promise<Exchanged>) {
    this.#check = check;
  }

  /**
   * Costs a neutral call, which calls answered 401 at the same time share. True if the token was accepted, and if the
   * console did not say: a login is not given up for an answer that is missing.
   */
  isAccepted(token: AccessToken): Promise<boolean> {
    const running = this.#running.get(token.generation);
    if (running !== undefined) return running;
    const checking = this.#ask(token).finally(() => this.#running.delete(token.generation));
    this.#running.set(token.generation, checking);
    return checking;
  }

  async #ask(token: AccessToken): Promise<boolean> {
    try {
      const { response } = await this.#check(token);
      return isAccepted(response.status);
    } catch (error) {
      if (isIamError(error)) return true;
      throw error;
    }
  }
}

/** A console without the neutral call answers 404 to any token: that proves nothing, and the 401 counts. */
function isAccepted(status: number): boolean {
  if (status < 300) return true;
  const code = codeOfStatus(status);
  return code === "PermissionDenied" || code === "Unavailable" || code === "RateLimited";
}
