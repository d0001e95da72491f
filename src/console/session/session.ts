import { Redacted } from "../../util/redacted.ts";
import type { Instant } from "../../util/time.ts";
import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, type IamErrorCode, isIamError, isUnansweredCall } from "../errors.ts";
import type { LoginAnswer } from "../wire/login.ts";
import type { LoginCircuit } from "./login-circuit.ts";

/** A user token, and the number of the login that returned it. */
export interface AccessToken {
  readonly value: Redacted;
  readonly generation: number;
}

export type LoginEnd = "success" | "rejected" | "mfaRequired" | "error";

/** The source of tokens for Bearer calls. Rejects with an IamError whose `sent` is false, or when aborted. */
export interface TokenSession {
  /** A token that is not known to be refused. */
  token(signal?: AbortSignal): Promise<AccessToken>;
  /** Replaces a token that got a 401; `undefined` if there cannot be another token. */
  replace(refused: AccessToken, signal?: AbortSignal): Promise<AccessToken | undefined>;
  /** Whether new calls get this token. */
  isCurrent(token: AccessToken): boolean;
  /** Records that the console accepted the token. */
  accepted(token: AccessToken): void;
}

/** A session with one fixed token. */
export function tokenSession(token: Redacted): TokenSession {
  // Secrets written by hand often end with a line break; tokens never do.
  const only = { value: new Redacted(token.reveal().trim()), generation: 0 };
  return {
    token: async () => {
      if (/^[\x21-\x7e]+$/.test(only.value.reveal())) return only;
      throw unsent("Unauthenticated", "the token is empty or not valid in a header");
    },
    replace: async () => undefined,
    isCurrent: () => true,
    accepted: () => undefined,
  };
}

interface LoginSessionOptions {
  /** Sends one login. Rejects with IamError only. */
  readonly login: () => Promise<LoginAnswer>;
  readonly circuit: LoginCircuit;
  readonly onLogin: (result: LoginEnd) => void;
}

/**
 * A session that gets its tokens by login.
 *
 * *Guarantees* (S19): at most one login is in progress, and all waiting calls share it. Every answered login without a
 * token is a failed login. After three failed logins in a row, the circuit pauses logins. After `mfaRequired`, the session never logs in again. A token that the console
 * refuses before accepting it once counts as a failed login. The token is in memory only. The session does not rely on
 * its format or lifetime, because the spec shows neither.
 *
 * *Caveat*: changed credentials require a new session.
 */
export class LoginSession implements TokenSession {
  readonly #options: LoginSessionOptions;
  readonly #circuit: LoginCircuit;
  #current: AccessToken | undefined;
  #running: Promise<AccessToken> | undefined;
  #generation = 0;
  #accepted = 0;
  #mfaRequired = false;

  constructor(options: LoginSessionOptions) {
    this.#options = options;
    this.#circuit = options.circuit;
  }

  async token(signal?: AbortSignal): Promise<AccessToken> {
    signal?.throwIfAborted();
    if (this.#current !== undefined) return this.#current;
    return untilAborted(this.#sharedLogin(), signal);
  }

  async replace(refused: AccessToken, signal?: AbortSignal): Promise<AccessToken> {
    // If many calls are refused at the same time, only the first drops the token; the others get the new token.
    if (this.#current?.generation === refused.generation) {
      this.#current = undefined;
      if (this.#isDoubtful(refused)) this.#circuit.failed(UNUSABLE_TOKEN);
    }
    return this.token(signal);
  }

  isCurrent({ generation }: AccessToken): boolean {
    return this.#current?.generation === generation;
  }

  accepted(token: AccessToken): void {
    if (token.generation <= this.#accepted) return;
    this.#accepted = token.generation;
    this.#circuit.succeeded();
  }

  /** Whether the console has never accepted the token, so its login may not have been good. */
  #isDoubtful({ generation }: AccessToken): boolean {
    return generation > this.#accepted;
  }

  #sharedLogin(): Promise<AccessToken> {
    this.#running ??= this.#circuit
      .inTurn(() => this.#logIn())
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #logIn(): Promise<AccessToken> {
    this.#refuseToTry();
    const previous = this.#generation;
    const answer = await this.#options.login().catch((error: unknown) => this.#loginFailed(error));
    if (answer.kind === "MfaRequired") {
      this.#mfaRequired = true;
      this.#options.onLogin("mfaRequired");
      throw mfaRequired();
    }
    this.#options.onLogin("success");
    // If the previous token was never accepted, a new token alone proves nothing, so the failure count stays.
    if (previous === this.#accepted) this.#circuit.succeeded();
    this.#generation = previous + 1;
    this.#current = { value: answer.token, generation: this.#generation };
    return this.#current;
  }

  #refuseToTry(): void {
    if (this.#mfaRequired) throw mfaRequired();
    const pausedUntil = this.#circuit.retryAt;
    if (pausedUntil !== undefined) {
      const { failures, lastFailure: { message = "", status } = {} } = this.#circuit;
      throw unsent(
        "LoginPaused",
        `logins are paused after ${failures} failed logins in a row; the last failure: ${message}`,
        { retryAt: pausedUntil, ...(status === undefined ? {} : { status }) },
      );
    }
  }

  #loginFailed(error: unknown): never {
    if (!isIamError(error)) throw error;
    const { message, status, requestId, retryAt, isAddressRefused } = error;
    const details = {
      isAddressRefused,
      ...(status === undefined ? {} : { status }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(retryAt === undefined ? {} : { retryAt }),
    };
    const isRejected = error.sent && !isUnansweredCall(error);
    this.#options.onLogin(isRejected ? "rejected" : "error");
    if (isRejected) this.#circuit.failed({ message, status });
    // A 404, a 422 or a page in response to a login is not about the objects of the waiting calls.
    throw unsent(isRejected ? "Unauthenticated" : error.code, message, details);
  }
}

const UNUSABLE_TOKEN = { message: "the console refused the token of the login", status: 401 };

function mfaRequired(): IamError {
  return unsent(
    "MfaRequired",
    "the login requires a second factor, which the operator cannot provide",
  );
}

/** However the login failed, the call that needed the token was not sent. */
function unsent(
  code: IamErrorCode,
  message: string,
  details: {
    status?: number;
    requestId?: string;
    retryAt?: Instant;
    isAddressRefused?: boolean;
  } = {},
): IamError {
  return new IamError(code, message, { operation: "login", sent: false, ...details });
}
