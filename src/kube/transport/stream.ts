/** Streams: each has a connection of its own, which ends with it. */
import { type Dispatcher, request } from "undici";
import type { Deadline } from "../../http/deadline.ts";
import { HttpError, type StreamRequest, type StreamResponse } from "../../http/http.ts";
import { connectionFailure, joinHeaders } from "../../http/undici-terms.ts";

export interface OpenedStream extends StreamResponse {
  readonly close: () => void;
}

/** Opens a stream over a dispatcher that it takes over: closing the stream destroys it. */
export async function openOnce(
  dispatcher: Dispatcher,
  call: Pick<StreamRequest, "url" | "headers">,
  signal: AbortSignal,
  onClose: () => void,
): Promise<OpenedStream> {
  const close = () => {
    onClose();
    void dispatcher.destroy();
  };
  // The caller may abort without ever having read the body.
  signal.addEventListener("abort", close, { once: true });
  try {
    const { statusCode, headers, body } = await request(call.url, {
      dispatcher,
      method: "GET",
      headers: call.headers,
      signal,
    });
    return { status: statusCode, headers: joinHeaders(headers), body, close };
  } catch (error) {
    close();
    throw toHttpError(error, signal);
  }
}

/** The stream's body, which closes everything at its end. */
export async function* bodyOf(
  { body, close }: OpenedStream,
  { signal, stop }: Deadline,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    throw toHttpError(error, signal);
  } finally {
    stop();
    close();
  }
}

function toHttpError(error: unknown, signal: AbortSignal): HttpError {
  return signal.aborted && signal.reason instanceof HttpError
    ? signal.reason
    : connectionFailure(error);
}
