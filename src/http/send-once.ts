import type { Dispatcher } from "undici";
import { HttpError, type HttpRequest, type HttpResponse } from "./http.ts";
import { PendingAnswer, type ReserveMemory } from "./pending-answer.ts";

/**
 * Sends one request once: no retries, no redirects. Ends at the latest when the signal is aborted, with the signal's
 * reason. Rejects with {@link HttpError} only, as `refused` if and only if nothing was sent.
 */
export async function sendOnce(
  dispatcher: Dispatcher,
  request: Omit<HttpRequest, "timeoutMs" | "signal">,
  signal: AbortSignal,
  reserveMemory?: ReserveMemory,
): Promise<HttpResponse> {
  const pending = new PendingAnswer({ ...request, reserveMemory });
  const abandon = () => pending.abandon(reasonOf(signal));
  if (signal.aborted) abandon();
  else dispatch(dispatcher, request, pending);
  signal.addEventListener("abort", abandon, { once: true });
  return pending.answer.finally(() => signal.removeEventListener("abort", abandon));
}

function dispatch(
  dispatcher: Dispatcher,
  { url, method, headers, body }: Pick<HttpRequest, "url" | "method" | "headers" | "body">,
  pending: PendingAnswer,
): void {
  const { origin, pathname, search } = new URL(url);
  try {
    // undici closes the connection after a DELETE unless `reset` is set.
    const options = { origin, path: `${pathname}${search}`, method, headers, reset: false };
    dispatcher.dispatch({ ...options, body: body ?? null }, pending);
  } catch {
    pending.abandon(new HttpError("network", "the request is not valid HTTP"));
  }
}

function reasonOf({ reason }: AbortSignal): HttpError {
  return reason instanceof HttpError ? reason : new HttpError("aborted", "the call was cancelled");
}
