import { type IamErrorCode, isIamError, type TokenVerdict } from "../errors.ts";
import type { AccessToken } from "./session.ts";

/**
 * Decides whether a 401 is about the login or only about its call. Any user of a shared login can cause a 401 by the
 * names in an object. A token is dropped only if a neutral call cannot use it either, or if the neutral call gets no
 * clear answer and calls about two different subjects are refused.
 */
export class TokenChecks {
  readonly #check: (token: AccessToken) => Promise<unknown>;
  readonly #running = new Map<number, Promise<TokenVerdict>>();
  /** The subjects whose calls were refused with the newest doubtful token since it was last accepted. */
  #doubts: { readonly generation: number; readonly subjects: Set<string> } | undefined;

  /** `check` makes the neutral call and reads its answer; it rejects like every call. */
  constructor(check: (token: AccessToken) => Promise<unknown>) {
    this.#check = check;
  }

  /**
   * Makes one neutral call, shared by all calls that get a 401 at the same time. A missing answer is not an acceptance.
   * `subject` names what the refused call is about.
   */
  async judge(token: AccessToken, subject: string): Promise<TokenVerdict> {
    this.#doubt(token, subject);
    const verdict = await this.#sharedCheck(token);
    if (verdict === "Accepted") this.accepted(token);
    if (verdict !== "Unknown") return verdict;
    return this.#doubt(token, subject).size > 1 ? "Refused" : "Unknown";
  }

  /** The verdict that is awaited on a token with which calls about two subjects were refused; `undefined` if none is. */
  pendingVerdict({ generation }: AccessToken): Promise<TokenVerdict> | undefined {
    if (this.#doubts?.generation !== generation || this.#doubts.subjects.size < 2) return undefined;
    return this.#running
      .get(generation)
      ?.then((verdict) => (verdict === "Unknown" ? "Refused" : verdict));
  }

  /** Records that the console accepted the token for a call. */
  accepted({ generation }: AccessToken): void {
    if (this.#doubts?.generation === generation) this.#doubts = undefined;
  }

  #doubt({ generation }: AccessToken, subject: string): ReadonlySet<string> {
    if (this.#doubts?.generation !== generation) this.#doubts = { generation, subjects: new Set() };
    const { subjects } = this.#doubts;
    // Two subjects are enough to decide.
    if (subjects.size < 2) subjects.add(subject);
    return subjects;
  }

  #sharedCheck(token: AccessToken): Promise<TokenVerdict> {
    const running = this.#running.get(token.generation);
    if (running !== undefined) return running;
    const checking = this.#ask(token).finally(() => this.#running.delete(token.generation));
    this.#running.set(token.generation, checking);
    return checking;
  }

  async #ask(token: AccessToken): Promise<TokenVerdict> {
    try {
      await this.#check(token);
      return "Accepted";
    } catch (error) {
      if (!isIamError(error)) throw error;
      return error.isPolicyDenied ? "Accepted" : verdicts[error.code];
    }
  }
}

/**
 * A missing answer, a page, a redirect and a 403 without the documented message show nothing. A console without the neutral call answers 404 to any token:
 * this proves nothing either, so the original 401 counts.
 */
const verdicts: Readonly<Record<IamErrorCode, TokenVerdict>> = {
  PermissionDenied: "Unknown",
  RateLimited: "Unknown",
  Unavailable: "Unknown",
  Timeout: "Unknown",
  MalformedResponse: "Unknown",
  ChangeNotApplied: "Unknown",
  Unauthenticated: "Refused",
  NotFound: "Refused",
  AlreadyExists: "Refused",
  InvalidArgument: "Refused",
  FailedPrecondition: "Refused",
  MfaRequired: "Refused",
  LoginPaused: "Refused",
};
