/** A process that can die at any call, with real servers on the other side. */
import type { HttpRequest, HttpResponse, SendHttp } from "../../../src/http/http.ts";

/** Where in a call the process dies. */
export type CrashPoint = "beforeSend" | "afterCommit" | "afterAnswer";

export interface Call {
  /** Which server it goes to. */
  readonly to: "kube" | "iam";
  readonly method: string;
  /** Without the query, and without what differs from run to run. */
  readonly path: string;
}

/**
 * Counts the calls of one process and ends it at one of them: from then on nothing it sends reaches anybody,
 * and nothing it is told arrives.
 */
export class MortalProcess {
  readonly calls: Call[] = [];
  #dead = false;
  readonly #crash: { readonly at: number; readonly point: CrashPoint } | undefined;
  readonly #died = Promise.withResolvers<void>();
  readonly #counts: (call: Call) => boolean;

  constructor(
    crash?: { readonly at: number; readonly point: CrashPoint },
    counts: (call: Call) => boolean = () => true,
  ) {
    this.#crash = crash;
    this.#counts = counts;
  }

  get dead(): boolean {
    return this.#dead;
  }

  /** Resolves at the moment of death. */
  get died(): Promise<void> {
    return this.#died.promise;
  }

  kill(): void {
    this.#dead = true;
    this.#died.resolve();
  }

  wrap(to: Call["to"], send: SendHttp): SendHttp {
    return (request) => this.#send(to, send, request);
  }

  async #send(to: Call["to"], send: SendHttp, request: HttpRequest): Promise<HttpResponse> {
    if (this.#dead) return never();
    const call = { to, method: request.method, path: new URL(request.url).pathname };
    const counted = this.#counts(call);
    const number = counted ? this.calls.push(call) - 1 : -1;
    const point = number === this.#crash?.at ? this.#crash.point : undefined;
    if (point === "beforeSend") {
      this.kill();
      return never();
    }
    if (point === "afterCommit") {
      // The request is on its way, whatever becomes of its answer.
      const answer = send(request);
      await answer.catch(() => undefined);
      this.kill();
      return never();
    }
    const answer = await send(request);
    if (point === "afterAnswer") this.kill();
    return this.#dead ? never() : answer;
  }
}

/** A dead process waits for ever. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
