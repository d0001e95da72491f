import type { Redacted } from "../../util/redacted.ts";
import type { Json, KeyPair } from "../model.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The parts of a call that are the same for every input. */
export interface CallTraits {
  readonly method: Method;
  /** The call is sent without credentials. */
  readonly isPublic?: true;
  /** The call is sent even while a `Retry-After` holds the connection. */
  readonly ignoresHold?: true;
  /** The call uses the slots for urgent calls and does not wait for the rate limit, which still counts it. */
  readonly isUrgent?: true;
  /** The call is sent without X-Partition-Id. */
  readonly ignoresPartition?: true;
}

/** One call as data: everything except the connection and the values of its credentials. */
export interface Call extends CallTraits {
  readonly operation: string;
  /** Under baseURL, with its query; every variable part is escaped. */
  readonly path: string;
  /** The account in the path, if the call names one. */
  readonly saId?: string | undefined;
  readonly body: Json | undefined;
  /** Parts of the body that must not be quoted. */
  readonly secrets: readonly Redacted[];
  /** `undefined`: the call is made as the connection's user (Bearer), unless it is public. */
  readonly key: KeyPair | undefined;
  /** The call changes something in the console: it is fenced and has a short deadline (S8). */
  readonly isMutating: boolean;
  /** Called every time the call is sent, after all its waits. */
  readonly onSend?: () => void;
}
