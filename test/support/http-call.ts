/** Calls of a transport, and how they end. */
import { HttpError, type HttpRequest, type SendHttp } from "../../src/http/http.ts";

export const get = (url: string, options: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  url,
  headers: {},
  timeoutMs: 2_000,
  maxBytes: 1_000,
  ...options,
});

/** The status of the answer, or the failure. */
export async function outcomeOf(sent: ReturnType<SendHttp>): Promise<string> {
  const error = await sent.then(
    ({ status }) => String(status),
    (reason: unknown) => reason,
  );
  return error instanceof HttpError ? `${error.failure}: ${error.message}` : String(error);
}
