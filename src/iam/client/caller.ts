import { startDeadline } from "../../http/deadline.ts";
import type { Clock } from "../../util/time.ts";
import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, isIamError } from "../errors.ts";
import { type Exchange, provesCredentials } from "../exchange/exchange.ts";
import { type Exchanged, unsentFailure } from "../exchange/failures.ts";
import { keyHolder, nobody, userWith } from "../session/identity.ts";
import type { AccessToken, TokenSession } from "../session/session.ts";
import type { TokenChecks } from "../session/token-checks.ts";
import type { Call } from "./call.ts";

export interface CallerOptions {
  readonly exchange: Exchange;
  readonly session: TokenSession;
  /** Shared by all callers of the session. */
  readonly tokenChecks: TokenChecks;
  readonly clock: Clock;
  readonly closing: AbortSignal;
  /** Whether a call that starts now is sent despite a `Retry-After`, current (`isHeld`) or later. */
  readonly mayPassHold: (isHeld: boolean) => boolean;
  /** Time limit of a call including all its waits. If present, the calls are urgent. */
  readonly deadlineMs?: number;
}

/** Makes calls with the credentials that each call requires. */
export class Caller {
  readonly #exchange: Exchange;
  readonly #session: TokenSession;
  readonly #tokenChecks: TokenChecks;
  readonly #closing: AbortSignal;
  readonly #clock: Clock;
  readonly #deadlineMs: number | undefined;
  readonly #mayPassHold: (isHeld: boolean) => boolean;

  constructor({
    exchange,
    session,
    tokenChecks,
    clock,
    closing,
    mayPassHold,
    deadlineMs,
  }: CallerOptions) {
    this.#exchange = exchange;
    this.#session = session;
    this.#tokenChecks = tokenChecks;
    this.#closing = closing;
    this.#clock = clock;
    this.#mayPassHold = mayPassHold;
    this.#deadlineMs = deadlineMs;
  }

  /**
   * Resolves to the answer, whatever its status. A Bearer call that gets a 401 is repeated once with another token, if
   * there is one and the console refuses the first token for other calls too. The refused attempt had no effect.
   */
  async call(plain: Call, signal?: AbortSignal): Promise<Exchanged> {
    const either = this.#eitherSignal(signal);
    if (this.#deadlineMs === undefined) return this.#call(plain, either);
    const deadline = startDeadline(this.#clock, this.#deadlineMs, either);
    try {
      return await this.#call({ ...plain, isUrgent: true }, deadline.signal);
    } catch (error) {
      throw isIamError(error) && deadline.signal.aborted && !either.aborted
        ? deadlineFailure(error, this.#deadlineMs)
        : error;
    } finally {
      deadline.stop();
    }
  }

  async #call(plain: Call, either: AbortSignal): Promise<Exchanged> {
    const call = this.#passingHold(plain);
    if (call.as === "nobody") return this.#exchange.send(call, nobody, either);
    if (call.as !== "user") return this.#exchange.send(call, keyHolder(call.as), either);
    const token = await this.#before(call, either, () => this.#session.token(either));
    const first = await this.#callWith(token, call, either);
    if (!isAboutLogin(first)) return first;
    const other = await this.#before(call, either, () => this.#session.replace(token, either));
    return other === undefined ? first : this.#callWith(other, call, either);
  }

  /** Ensures that there is a token that is not known to be refused. */
  async authenticate(signal?: AbortSignal): Promise<void> {
    const either = this.#eitherSignal(signal);
    const call = this.#passingHold({ operation: "login" as const });
    await this.#before(call, either, () => this.#session.token(either));
  }

  #eitherSignal(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#closing : AbortSignal.any([this.#closing, signal]);
  }

  async #callWith(token: AccessToken, call: Call, signal: AbortSignal): Promise<Exchanged> {
    const exchanged = await this.#exchange.send(call, userWith(token.value), signal);
    if (provesCredentials(exchanged)) this.#session.accepted(token);
    if (exchanged.response.status !== 401) return exchanged;
    if (!this.#session.isCurrent(token)) return exchanged;
    const loginStands = await this.#before(call, signal, () =>
      untilAborted(this.#tokenChecks.isAccepted(token), signal),
    );
    if (loginStands) this.#session.accepted(token);
    return { ...exchanged, loginStands };
  }

  /** The call, marked with `ignoresHold` if it may pass a `Retry-After`. */
  #passingHold<T extends object>(call: T): T & Pick<Call, "ignoresHold"> {
    return this.#mayPassHold(this.#exchange.isHeld) ? { ...call, ignoresHold: true } : call;
  }

  /** Runs the work that must precede a call. If it is cancelled, rejects with an IamError. */
  async #before<T>(
    { operation, ignoresHold }: Pick<Call, "operation" | "ignoresHold">,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    if (!ignoresHold) this.#exchange.refuseWhileHeld(operation);
    try {
      return await work();
    } catch (error) {
      if (isIamError(error) || !signal.aborted) throw error;
      throw unsentFailure(operation, "it was cancelled");
    }
  }
}

function isAboutLogin({ response: { status }, loginStands }: Exchanged): boolean {
  return status === 401 && loginStands !== true;
}

function deadlineFailure({ operation, sent }: IamError, ms: number): IamError {
  const message = `${operation} was given up after ${ms} ms, with all that it waited for`;
  return new IamError("Timeout", message, { operation, sent });
}
