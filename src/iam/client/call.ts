import type { Redacted } from "../../util/redacted.ts";
import type { Json, KeyPair, Operation } from "../model.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** One call as data: everything about it but the connection and the credentials' values. */
export interface Call {
  readonly operation: Operation;
  readonly method: Method;
  /** Under baseURL, with its query; every variable part is escaped. */
  readonly path: string;
  /** Nobody, the connection's user (Bearer), or a key. */
  readonly as: "nobody" | "user" | KeyPair;
  readonly body?: Json;
  /** What in the body must not be quoted. */
  readonly secrets?: readonly Redacted[];
  /** Changes the world: fenced, and with a short deadline (S8). */
  readonly isMutating?: true;
  /** Answers with a list: has a larger bound. */
  readonly isList?: true;
  /** Is sent although the console asked to wait. */
  readonly ignoresHold?: true;
  /** Has connections of its own and waits for no rate limit, which counts it all the same. */
  readonly isUrgent?: true;
  /** Takes no X-Partition-Id. */
  readonly ignoresPartition?: true;
  /** Is told each time that the call leaves, after all that it had to wait for. */
  readonly onSend?: () => void;
}
