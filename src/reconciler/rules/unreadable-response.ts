/**
 * A call that cannot be repeated safely got a response that was received but cannot be read. The next response would be
 * the same, so the call is not made again before the spec, the connection or a request of a user changes. Pure.
 */
import { createHash } from "node:crypto";
import { annotations } from "../../api/meta.ts";
import { isUnreadable } from "../../console/errors.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { ended } from "../../util/ended.ts";
import { withRequestId } from "./failure.ts";
import { requestToken } from "./request.ts";

export interface UnreadableResponse {
  readonly attemptId: string;
  /** What was received, without any text of its body. */
  readonly message: string;
  /** Changes with anything that may lead to another response. */
  readonly circumstances: string;
}

export const UNREADABLE_RESPONSE = "UnreadableResponse";

const MAX_MESSAGE = 512;

/** How users have the call made again, for messages. */
const REPEATED_ON_REQUEST =
  "Correct the gateway or the console, then run kubectl iam reconcile: the call is repeated only on request, or when the spec of this object or of its connection changes.";

/** The response in a sentence, and how the call is repeated. */
export function describeStop({ message }: Pick<UnreadableResponse, "message">, more = ""): string {
  return `${message.slice(0, 1).toUpperCase()}${ended(message.slice(1))}${more} ${REPEATED_ON_REQUEST}`;
}

/** `connection`: the `clientIdentity` of its spec. The record of a failed call, if its response was received and cannot be read. */
export function unreadableResponse(
  error: unknown,
  attemptId: string,
  object: KubeObject,
  connection: string,
): UnreadableResponse | undefined {
  if (!isUnreadable(error)) return undefined;
  const message = withRequestId(error.message, error).slice(0, MAX_MESSAGE).toWellFormed();
  return { attemptId, message, circumstances: circumstancesOf(object, connection) };
}

/** Whether the call must not be made: nothing has changed since the response. */
export function isStopped(
  { circumstances }: UnreadableResponse,
  object: KubeObject,
  connection: string,
): boolean {
  return circumstances === circumstancesOf(object, connection);
}

function circumstancesOf({ metadata }: KubeObject, connection: string): string {
  const request = requestToken(metadata, annotations.reconcileRequestedAt) ?? "";
  const all = JSON.stringify([metadata.generation, request, connection]);
  return createHash("sha256").update(all).digest("hex").slice(0, 16);
}
