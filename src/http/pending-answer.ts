import type { Dispatcher } from "undici";
import { HttpError, type HttpResponse } from "./http.ts";
import { connectionFailure, joinHeaders } from "./undici-terms.ts";

/**
 * One request on its way, from undici's point of view.
 *
 * *Guarantees*: settles once, at the latest when {@link abandon} is called; a failure is `refused` exactly
 * where undici had not begun to write the request, and a request abandoned before that is never written;
 * never keeps more than `maxBytes` of the answer; no failure quotes the peer.
 */
export class PendingAnswer implements Dispatcher.DispatchHandler {
  readonly #maxBytes: number;
  readonly #beforeSending: () => void;
  readonly #outcome = Promise.withResolvers<HttpResponse>();
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #size = 0;

  /** `beforeSending` may forbid the request by throwing. */
  constructor(maxBytes: number, beforeSending: () => void = () => undefined) {
    this.#maxBytes = maxBytes;
    this.#beforeSending = beforeSending;
  }

  get answer(): Promise<HttpResponse> {
    return this.#outcome.promise;
  }

  /** Gives the request up for the reason given. */
  abandon(reason: HttpError): void {
    this.#fail(reason);
    this.#stop();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    try {
      if (!this.#settled) this.#beforeSending();
    } catch (cause) {
      this.#fail(new HttpError("refused", "it may not be sent any more", { cause }));
    }
    this.#controller = controller;
    if (this.#settled) this.#stop();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: NodeJS.Dict<string | string[]>,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = joinHeaders(headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#size += chunk.length;
    if (this.#size <= this.#maxBytes) this.#chunks.push(chunk);
    else {
      const message = `the answer is larger than ${this.#maxBytes} bytes`;
      this.abandon(new HttpError("tooLarge", message));
    }
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    this.#settled = true;
    const body = Buffer.concat(this.#chunks);
    this.#chunks = [];
    this.#outcome.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(connectionFailure(error));
  }

  #fail({ failure, message, cause }: HttpError): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#chunks = [];
    const unsent = this.#controller === undefined;
    this.#outcome.reject(new HttpError(unsent ? "refused" : failure, message, { cause }));
  }

  #stop(): void {
    this.#controller?.abort(new Error("given up"));
  }
}
