import { startDeadline } from "../../http/deadline.ts";
import type { Clock } from "../../util/time.ts";
import { untilAborted } from "../../util/until-aborted.ts";
import { IamError, isIamError } from "../errors.ts";
import type { Call } from "../exchange/call.ts";
import {
  type Exchange,
  isSuccess,
  OutdatedIdentity,
  provesCredentials,
} from "../exchange/exchange.ts";
import { type Exchanged, unsentFailure } from "../exchange/failures.ts";
import { anonymous, keyHolder, userWith } from "../session/identity.ts";
import type { AccessToken, TokenSession } from "../session/session.ts";
import type { TokenChecks } from "../session/token-checks.ts";

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
  readonly #options: CallerOptions;

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the answer, whatever its status. A Bearer call that gets a 401 is repeated once with another token, if
   * there is one and the console refuses the first token for other calls too. The refused attempt had no effect.
   */
  async call(plain: Call, signal?: AbortSignal): Promise<Exchanged> {
    const { clock, deadlineMs } = this.#options;
    const either = this.#eitherSignal(signal);
    if (deadlineMs === undefined) return this.#call(plain, either);
    const deadline = startDeadline(clock, deadlineMs, either);
    try {
      return await this.#call({ ...plain, isUrgent: true }, deadline.signal);
    } catch (error) {
      throw isIamError(error) && deadline.signal.aborted && !either.aborted
        ? deadlineFailure(error, deadlineMs)
        : error;
    } finally {
      deadline.stop();
    }
  }

  async #call(plain: Call, either: AbortSignal): Promise<Exchanged> {
    const { exchange, session } = this.#options;
    const call = this.#passingHold(plain);
    if (call.isPublic) return exchange.send(call, anonymous, either);
    if (call.key !== undefined) return exchange.send(call, keyHolder(call.key), either);
    const token = await this.#before(call, either, () => session.token(either));
    const first = await this.#callWith(token, call, either);
    if (!isAboutLogin(first.exchanged)) return first.exchanged;
    const other = await this.#before(call, either, () => session.replace(first.token, either));
    return other === undefined
      ? first.exchanged
      : (await this.#callWith(other, call, either)).exchanged;
  }

  /** Ensures that there is a token that is not known to be refused. */
  async authenticate(signal?: AbortSignal): Promise<void> {
    const either = this.#eitherSignal(signal);
    const call = this.#passingHold({ operation: "login" });
    await this.#before(call, either, () => this.#options.session.token(either));
  }

  #eitherSignal(signal: AbortSignal | undefined): AbortSignal {
    const { closing } = this.#options;
    return signal === undefined ? closing : AbortSignal.any([closing, signal]);
  }

  async #callWith(wanted: AccessToken, call: Call, signal: AbortSignal): Promise<ByUser> {
    const { session, tokenChecks } = this.#options;
    const { exchanged, token } = await this.#sendWith(wanted, call, signal);
    if (provesCredentials(exchanged)) session.accepted(token);
    if (isSuccess(exchanged.response.status)) tokenChecks.accepted(token);
    if (exchanged.response.status !== 401) return { exchanged, token };
    if (!session.isCurrent(token)) return { exchanged, token };
    const login = await this.#before(call, signal, () =>
      untilAborted(tokenChecks.judge(token, subjectOf(call)), signal),
    );
    if (login === "Accepted") session.accepted(token);
    return { exchanged: { ...exchanged, login }, token };
  }

  /** Sends the call once; with another token than `wanted` if that is replaced while the call waits. */
  async #sendWith(wanted: AccessToken, call: Call, signal: AbortSignal): Promise<ByUser> {
    const { exchange, session, tokenChecks } = this.#options;
    for (
      let token = wanted;
      ;
      token = await this.#before(call, signal, () => session.token(signal))
    ) {
      token = await this.#undoubted(token, call, signal);
      const isUsable = () =>
        session.isCurrent(token) &&
        (call.isUrgent === true || tokenChecks.pendingVerdict(token) === undefined);
      try {
        const exchanged = await exchange.send(call, userWith(token.value, isUsable), signal);
        return { exchanged, token };
      } catch (error) {
        if (!(error instanceof OutdatedIdentity)) throw error;
      }
    }
  }

  /** The token; if it is doubted, the call waits for the verdict, and gets another token if that is a refusal. */
  async #undoubted(token: AccessToken, call: Call, signal: AbortSignal): Promise<AccessToken> {
    const { session, tokenChecks } = this.#options;
    const pending = call.isUrgent ? undefined : tokenChecks.pendingVerdict(token);
    if (pending === undefined) return token;
    return this.#before(call, signal, async () => {
      const verdict = await untilAborted(pending, signal);
      return verdict === "Refused" ? ((await session.replace(token, signal)) ?? token) : token;
    });
  }

  /** The call, marked with `ignoresHold` if it may pass a `Retry-After`. */
  #passingHold<T extends object>(call: T): T & Pick<Call, "ignoresHold"> {
    const { exchange, mayPassHold } = this.#options;
    return mayPassHold(exchange.isHeld) ? { ...call, ignoresHold: true } : call;
  }

  /** Runs the work that must precede a call. If it is cancelled, rejects with an IamError. */
  async #before<T>(
    { operation, ignoresHold }: Pick<Call, "operation" | "ignoresHold">,
    signal: AbortSignal,
    work: () => Promise<T>,
  ): Promise<T> {
    if (!ignoresHold) this.#options.exchange.refuseWhileHeld(operation);
    try {
      return await work();
    } catch (error) {
      if (isIamError(error) || !signal.aborted) throw error;
      throw unsentFailure(operation, "it was cancelled");
    }
  }
}

/** An answer, and the token that the call was sent with. */
interface ByUser {
  readonly exchanged: Exchanged;
  readonly token: AccessToken;
}

function isAboutLogin({ response: { status }, login = "Refused" }: Exchanged): boolean {
  return status === 401 && login === "Refused";
}

/** The account that the call is about, or the path: calls about two subjects are not made for the same object. */
function subjectOf({ path, saId }: Call): string {
  return saId ?? path;
}

function deadlineFailure({ operation, sent }: IamError, ms: number): IamError {
  const message = `${operation} was given up after ${ms} ms, with all that it waited for`;
  return new IamError("Timeout", message, { operation, sent });
}
