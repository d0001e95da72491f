/** A transport that answers from a list, and remembers what it was asked. */
import type { HttpRequest, HttpResponse, SendHttp } from "../../../src/http/http.ts";

export interface FakeAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: object | string;
}

export function fakeSend(...answers: readonly (FakeAnswer | Error)[]) {
  const requests: HttpRequest[] = [];
  const left = [...answers];
  const send: SendHttp = (request) => {
    requests.push(request);
    const answer = left.shift();
    if (answer === undefined) throw new Error("the test expects no further request");
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(toResponse(answer));
  };
  return { send, requests };
}

function toResponse({ status = 200, headers = {}, body = {} }: FakeAnswer): HttpResponse {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, headers, body: Buffer.from(text) };
}
