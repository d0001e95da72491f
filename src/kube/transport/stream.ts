/** Streams. Each stream has its own connection, which is closed with the stream. */
import { type Dispatcher, request } from "undici";
import type { Deadline } from "../../http/deadline.ts";
import { HttpError, type StreamRequest, type StreamResponse } from "../../http/http.ts";
import { connectionFailure, joinHeaders } from "../../http/undici-terms.ts";

export interface OpenedStream extends StreamResponse {
  readonly close: () => void;
}

/** Opens a stream over a dispatcher and takes ownership of it: closing the stream destroys the dispatcher. */
export async function openOnce(
  dispatcher: Dispatcher,
  call: Pick<StreamRequest, "url" | "headers">,
  signal: AbortSignal,
  onClose: () => void,
): Promise<OpenedStream> {
  const close = () => {
    onClose();
    dispatcher.destroy().catch(() => undefined);
  };
  // The caller may abort without reading the body.
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

/** The stream's body. Its end closes the stream and stops the deadline. */
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
