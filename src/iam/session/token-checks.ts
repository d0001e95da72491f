import { isIamError } from "../errors.ts";
import { codeOfStatus, type Exchanged } from "../exchange/failures.ts";
import type { AccessToken } from "./session.ts";

/**
 * Decides whether a 401 is about the login or only about its call. Any user of a shared login can cause a 401 by the
 * names in an object. A token is dropped only if a neutral call cannot use it either.
 */
export class TokenChecks {
  readonly #check: (token: AccessToken) => Promise<Exchanged>;
  readonly #running = new Map<number, Promise<boolean>>();

  /** `check` makes the neutral call. */
  constructor(check: (token: AccessToken) => Promise<Exchanged>) {
    this.#check = check;
  }

  /**
   * Makes one neutral call, shared by all calls that get a 401 at the same time. True if the console accepted the
   * token, and also if there is no clear answer: a missing answer does not end a login.
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

/** A console without the neutral call answers 404 to any token. This proves nothing, so the original 401 counts. */
function isAccepted(status: number): boolean {
  if (status < 300) return true;
  const code = codeOfStatus(status);
  return code === "PermissionDenied" || code === "Unavailable" || code === "RateLimited";
}
