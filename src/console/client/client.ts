import type { Instant } from "../../util/time.ts";
import type { DocumentedCall, Endpoints, ExtraOperation } from "../endpoints.ts";
import type { Endpoint } from "./endpoint.ts";

type Method<Row> =
  Row extends Endpoint<infer Input, infer Answer>
    ? (input: Input, signal?: AbortSignal) => Promise<Answer>
    : never;

/** One method a row of the table, and the calls that the connection configures. */
export type Calls = { readonly [N in DocumentedCall]: Method<Endpoints[N]> } & {
  readonly [N in ExtraOperation]?: Method<Endpoints[N]>;
};

/**
 * Access to one console through one connection. Every call sends its request once. After a 401 on a Bearer call, the
 * client checks the token with a neutral call (searchActions). If the console refuses the token for that call too, or
 * gives no clear answer to it and has refused the token for a call about another account too, the client logs in again
 * and repeats the first call once. An answer of 429 or 5xx with a `Retry-After` holds every later
 * call until then, for five minutes at most: held calls reject with RateLimited and are not sent. Rejects with IamError
 * only.
 */
export interface IamClient extends Calls {
  /** Logs in if there is no token, which proves that the console accepts the credentials. */
  authenticate(signal?: AbortSignal): Promise<void>;
  /**
   * The same connection for revoking access. Its calls, and their logins, are sent even while a `Retry-After` holds all
   * other calls. They have reserved slots and end within 5 s.
   */
  readonly urgent: IamClient;
  /** The same connection for user requests. During a `Retry-After`, only a limited number of its calls are sent. */
  readonly requested: IamClient;
  /** Seconds by which the console's clock is ahead, according to the last answer with a `Date`. */
  clockSkew(): number | undefined;
  /**
   * The time by the console's clock; `undefined` before an answer with a `Date`, and if this clock has contradicted those
   * of the process and the API server for a day.
   */
  consoleTime(): Instant | undefined;
  /** Aborts running calls and closes the pooled connections. */
  close(): Promise<void>;
}
