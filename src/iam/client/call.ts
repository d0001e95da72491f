import type { Redacted } from "../../util/redacted.ts";
import type { Json, KeyPair, Operation } from "../model.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One call as data: everything except the connection and the values of its credentials. */
export interface Call {
  readonly operation: Operation;
  readonly method: Method;
  /** Under baseURL, with its query; every variable part is escaped. */
  readonly path: string;
  /** Without credentials, as the connection's user (Bearer), or with a key. */
  readonly as: "nobody" | "user" | KeyPair;
  readonly body?: Json;
  /** Parts of the body that must not be quoted. */
  readonly secrets?: readonly Redacted[];
  /** The call changes something in the console: it is fenced and has a short deadline (S8). */
  readonly isMutating?: true;
  /** The answer is a list and has a larger size limit. */
  readonly isList?: true;
  /** The call is sent even while a `Retry-After` holds the connection. */
  readonly ignoresHold?: true;
  /** The call uses the slots for urgent calls and does not wait for the rate limit, which still counts it. */
  readonly isUrgent?: true;
  /** The call is sent without X-Partition-Id. */
  readonly ignoresPartition?: true;
  /** Called every time the call is sent, after all its waits. */
  readonly onSend?: () => void;
}
