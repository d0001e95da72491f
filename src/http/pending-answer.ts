import type { Dispatcher } from "undici";
import { HttpError, type HttpResponse } from "./http.ts";
import { connectionFailure, joinHeaders } from "./undici-terms.ts";

interface AnswerOptions {
  /** Maximum size of the answer's body in bytes. */
  readonly maxBytes: number;
  /** Forbids the request by throwing. */
  readonly beforeSending?: (() => void) | undefined;
  /** Reserves memory before the rest of a large answer is read. Without it, large answers are read at once. */
  readonly reserveMemory?: ReserveMemory | undefined;
}

/** Calls `onGranted` when `bytes` are reserved. The returned function releases them, or stops waiting. */
export type ReserveMemory = (bytes: number, onGranted: () => void) => () => void;

/** An answer with more bytes is large. */
const LARGE_BYTES = 64 * 1_024;

/**
 * The undici handler of one request.
 *
 * *Guarantees*: settles once, at the latest when {@link abandon} is called. A failure is `refused` if and only if
 * undici had not started to write the request; a request abandoned before that is never written. Never keeps more
 * than `maxBytes` of the answer, and does not read the rest of a large answer without reserved memory. No failure quotes
 * the peer.
 */
export class PendingAnswer implements Dispatcher.DispatchHandler {
  readonly #options: AnswerOptions;
  readonly #outcome = Promise.withResolvers<HttpResponse>();
  #controller: Dispatcher.DispatchController | undefined;
  #settled = false;
  #status = 0;
  #headers: Record<string, string> = {};
  #chunks: Buffer[] = [];
  #size = 0;
  #releaseMemory: (() => void) | undefined;

  constructor(options: AnswerOptions) {
    this.#options = options;
  }

  get answer(): Promise<HttpResponse> {
    return this.#outcome.promise;
  }

  /** Aborts the request for `reason`. */
  abandon(reason: HttpError): void {
    this.#fail(reason);
    this.#stop();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    try {
      if (!this.#settled) this.#options.beforeSending?.();
    } catch (cause) {
      this.#fail(new HttpError("refused", "the call is no longer allowed", { cause }));
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

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    const { maxBytes } = this.#options;
    this.#size += chunk.length;
    if (this.#size > maxBytes) {
      const message = `the answer is larger than ${maxBytes} bytes`;
      this.abandon(new HttpError("tooLarge", message));
      return;
    }
    this.#chunks.push(chunk);
    if (this.#size > LARGE_BYTES) this.#reserveMemory(controller);
  }

  onResponseEnd(): void {
    if (this.#settled) return;
    const body = Buffer.concat(this.#chunks);
    this.#settle();
    this.#outcome.resolve({ status: this.#status, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.#fail(connectionFailure(error));
  }

  #fail({ failure, message, cause }: HttpError): void {
    if (this.#settled) return;
    this.#settle();
    const unsent = this.#controller === undefined && failure !== "forbidden";
    this.#outcome.reject(new HttpError(unsent ? "refused" : failure, message, { cause }));
  }

  #settle(): void {
    this.#settled = true;
    this.#chunks = [];
    this.#releaseMemory?.();
  }

  #reserveMemory(controller: Dispatcher.DispatchController): void {
    const { reserveMemory, maxBytes } = this.#options;
    if (this.#releaseMemory !== undefined || reserveMemory === undefined) return;
    controller.pause();
    // In a microtask: the memory may be released inside the parser of another connection.
    this.#releaseMemory = reserveMemory(maxBytes, () => queueMicrotask(() => controller.resume()));
  }

  #stop(): void {
    this.#controller?.abort(new Error("given up"));
  }
}
