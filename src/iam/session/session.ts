import type { Random } from "../../util/random.ts";
import { Redacted } from "../../util/redacted.ts";
import type { Clock, Instant } from "../../util/time.ts";
import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, type IamErrorCode, isIamError } from "../errors.ts";
import type { LoginAnswer } from "../wire/login.ts";
import { LoginCircuit } from "./login-circuit.ts";

/** A user token, and which login it came from. */
export interface AccessToken {
  readonly value: Redacted;
  readonly generation: number;
}

export type LoginEnd = "success" | "rejected" | "mfaRequired" | "error";

/** Where Bearer calls get their token. Rejects with an IamError whose `sent` is false, or when aborted. */
export interface TokenSession {
  /** A token that is not known to be refused. */
  token(signal?: AbortSignal): Promise<AccessToken>;
  /** Another token in place of one that was answered 401; `undefined` where there can be none. */
  replace(refused: AccessToken, signal?: AbortSignal): Promise<AccessToken | undefined>;
  /** Whether calls from now on would get this token. */
  isCurrent(token: AccessToken): boolean;
  /** The console took the token. */
  accepted(token: AccessToken): void;
}

/** A ready-made token: there is no other one. */
export function tokenSession(token: Redacted): TokenSession {
  // Secrets written by hand tend to end in a line break, which no token does.
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

export interface LoginSessionOptions {
  /** login, once. Rejects with IamError only. */
  readonly login: () => Promise<LoginAnswer>;
  readonly clock: Clock;
  readonly random: Random;
  readonly onLogin: (result: LoginEnd) => void;
}

/**
 * Tokens by login.
 *
 * *Guarantees* (S19): at most one login is under way, shared by everybody who waits; after three failed
 * ones in a row the circuit pauses them; after `mfaRequired` there is none ever again. A token that is
 * refused without having been accepted once counts as a failed login.
 * The token is in memory only, and its form and lifetime are nobody's business: the spec shows neither.
 *
 * *Caveat*: changed credentials need a new session.
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
    this.#circuit = new LoginCircuit(options.clock, options.random);
  }

  async token(signal?: AbortSignal): Promise<AccessToken> {
    signal?.throwIfAborted();
    if (this.#current !== undefined) return this.#current;
    return untilAborted(this.#sharedLogin(), signal);
  }

  async replace(refused: AccessToken, signal?: AbortSignal): Promise<AccessToken> {
    // Of many calls refused at the same time, the first one drops the token; the others find a new one.
    if (this.#current?.generation === refused.generation) {
      this.#current = undefined;
      if (this.#isDoubtful(refused)) this.#circuit.failed();
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

  /** Never accepted: whether its login was any good is open. */
  #isDoubtful({ generation }: AccessToken): boolean {
    return generation > this.#accepted;
  }

  #sharedLogin(): Promise<AccessToken> {
    this.#running ??= this.#logIn().finally(() => {
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
    // After a token that was never accepted, a new one alone proves nothing: the count goes on.
    if (previous === this.#accepted) this.#circuit.succeeded();
    this.#generation = previous + 1;
    this.#current = { value: answer.token, generation: this.#generation };
    return this.#current;
  }

  #refuseToTry(): void {
    if (this.#mfaRequired) throw mfaRequired();
    const pausedUntil = this.#circuit.retryAt;
    if (pausedUntil !== undefined) {
      throw unsent(
        "LoginPaused",
        `logins are paused after ${this.#circuit.failures} failed logins in a row`,
        { retryAt: pausedUntil },
      );
    }
  }

  #loginFailed(error: unknown): never {
    if (!isIamError(error)) throw error;
    const { message, status, requestId, retryAt } = error;
    const details = {
      ...(status === undefined ? {} : { status }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(retryAt === undefined ? {} : { retryAt }),
    };
    const isRejected = REJECTIONS.has(error.code);
    this.#options.onLogin(isRejected ? "rejected" : "error");
    if (isRejected) this.#circuit.failed();
    throw unsent(isRejected ? "Unauthenticated" : error.code, message, details);
  }
}

/**
 * Answers that say no to the credentials. All of them reach the waiting calls as Unauthenticated: a 404 or
 * 422 of the login says nothing about what those calls asked for.
 */
const REJECTIONS: ReadonlySet<IamErrorCode> = new Set([
  "Unauthenticated",
  "PermissionDenied",
  "NotFound",
  "AlreadyExists",
  "InvalidArgument",
  "FailedPrecondition",
]);

function mfaRequired(): IamError {
  return unsent(
    "MfaRequired",
    "the login requires a second factor, which the operator cannot provide",
  );
}

/** Whatever happened to the login, the call that wanted the token was not made. */
function unsent(
  code: IamErrorCode,
  message: string,
  details: { status?: number; requestId?: string; retryAt?: Instant } = {},
): IamError {
  return new IamError(code, message, { operation: "login", sent: false, ...details });
}
