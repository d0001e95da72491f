/** A process that can be killed, with real servers on the other side. */
import type { HttpRequest, HttpResponse, SendHttp } from "../../../src/http/http.ts";

/** Once it is dead, nothing it sends reaches anybody, and nothing it is told arrives. */
export class MortalProcess {
  #isDead = false;

  kill(): void {
    this.#isDead = true;
  }

  wrap(send: SendHttp): SendHttp {
    return (request) => this.#send(send, request);
  }

  async #send(send: SendHttp, request: HttpRequest): Promise<HttpResponse> {
    if (this.#isDead) return never();
    const answer = await send(request);
    return this.#isDead ? never() : answer;
  }
}

/** A dead process waits for ever. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
