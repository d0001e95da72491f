import type { RequestListener } from "node:http";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HttpError, type HttpRequest } from "../../../src/http/http.ts";
import type { KubeCredentials, KubeEndpoint } from "../../../src/kube/config/credentials.ts";
import { createKubeTransport, type KubeTransport } from "../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import { type LocalServer, silence, startWeb } from "../../support/local-server.ts";

let server: LocalServer;
let answer: RequestListener;
let endpoint: KubeEndpoint;
let transport: KubeTransport;
let observed: string[];

beforeEach(async () => {
  answer = silence;
  server = await startWeb((request, response) => answer(request, response));
  endpoint = {
    server: server.url,
    proxyUrl: undefined,
    namespace: undefined,
    credentials: () => Promise.resolve({ tls: { insecure: false }, headers: {} }),
  };
  observed = [];
  transport = connect(endpoint);
});

afterEach(async () => {
  await transport.close();
  await vi.waitFor(() => expect(server.openSockets()).toBe(0));
});

function connect(endpoint: KubeEndpoint): KubeTransport {
  return createKubeTransport({
    endpoint,
    clock: systemClock,
    onRequest: (method, code) => void observed.push(`${method} ${code}`),
    connections: 2,
  });
}

const call = (request: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  url: `${server.url}/api`,
  headers: {},
  timeoutMs: 2_000,
  maxBytes: 1_000,
  ...request,
});

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "none",
    (error: unknown) => (error instanceof HttpError ? error.failure : error),
  );

test("reports every request with its status, or that there was no answer", async () => {
  answer = (_, response) => response.writeHead(418).end();
  await transport.send(call());
  answer = silence;
  expect(await failureOf(transport.send(call({ timeoutMs: 150 })))).toBe("timeout");
  await vi.waitFor(() => expect(observed).toEqual(["GET 418", "GET <error>"]));
});

test("a call of the lease has connections of its own", async () => {
  answer = silence;
  const stuck = [call(), call()].map((one) =>
    failureOf(transport.send({ ...one, timeoutMs: 300 })),
  );
  await vi.waitFor(() => expect(server.requests).toHaveLength(2));
  answer = (_, response) => response.end("renewed");
  expect((await transport.sendLease(call())).body.toString()).toBe("renewed");
  expect(await Promise.all(stuck)).toEqual(["timeout", "timeout"]);
});

describe("a refused token", () => {
  const withToken = (token: string): KubeCredentials => ({
    tls: { insecure: false },
    headers: { authorization: `Bearer ${token}` },
  });

  /** An endpoint whose token file has changed since it was last read. */
  function rotating(): KubeEndpoint & { reads: number } {
    let current = withToken("old");
    const rotated = {
      ...endpoint,
      reads: 0,
      credentials: (rejected?: KubeCredentials) => {
        if (rejected === current) {
          rotated.reads += 1;
          current = withToken("new");
        }
        return Promise.resolve(current);
      },
    };
    return rotated;
  }

  const onlyNew: RequestListener = ({ headers }, response) =>
    response.writeHead(headers.authorization === "Bearer new" ? 200 : 401).end();

  test("is read again once, and the call sent again once, for all calls together", async () => {
    answer = onlyNew;
    const rotated = rotating();
    const other = connect(rotated);
    const answers = await Promise.all(
      [1, 2, 3].map(() => other.send(call({ method: "POST", body: "x" }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(rotated.reads).toBe(1);
    await other.close();
  });

  test("that stays refused is the caller's business", async () => {
    answer = (_, response) => response.writeHead(401).end();
    expect((await transport.send(call())).status).toBe(401);
    expect(observed).toEqual(["GET 401", "GET 401"]);
  });

  test("is read again for streams as well", async () => {
    answer = onlyNew;
    const other = connect(rotating());
    const { status } = await other.openStream({
      url: `${server.url}/api`,
      headers: {},
      headTimeoutMs: 1_000,
      signal: AbortSignal.timeout(2_000),
    });
    expect(status).toBe(200);
    await other.close();
  });

  test("that cannot be had means that nothing was sent, and is not quoted", async () => {
    const credentials = () => Promise.reject(new Error("canary"));
    const other = connect({ ...endpoint, credentials });
    const error = await other.send(call()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ failure: "refused", message: "no credentials (Error)" });
    await other.close();
  });

  test("that cannot be read in time costs no more than the deadline", async () => {
    const stuck = connect({ ...endpoint, credentials: () => new Promise(() => undefined) });
    expect(await failureOf(stuck.send(call({ timeoutMs: 100 })))).toBe("timeout");
    await stuck.close();
  });
});

describe("a stream", () => {
  const open = (signal: AbortSignal, headTimeoutMs = 1_000) =>
    transport.openStream({
      url: `${server.url}/api`,
      headers: {},
      headTimeoutMs,
      signal,
    });

  test("outlives the deadline of its head and throws when aborted", async () => {
    answer = (_, response) => {
      response.write("one");
      setTimeout(() => response.write("two"), 200);
    };
    const abort = new AbortController();
    const { body } = await open(abort.signal, 100);
    const seen: string[] = [];
    const read = async () => {
      for await (const chunk of body) {
        seen.push(Buffer.from(chunk).toString());
        if (seen.length === 2) abort.abort();
      }
    };
    expect(await failureOf(read())).toBe("aborted");
    expect(seen).toEqual(["one", "two"]);
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("without a head in time fails and leaves nothing open", async () => {
    expect(await failureOf(open(new AbortController().signal, 100))).toBe("timeout");
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("that nobody reads is closed by its signal", async () => {
    answer = (_, response) => response.write("x");
    const abort = new AbortController();
    await open(abort.signal);
    expect(server.openSockets()).toBe(1);
    abort.abort();
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("that is left early is closed", async () => {
    answer = (_, response) => response.write("x");
    const { body } = await open(new AbortController().signal);
    for await (const _ of body) break;
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("holds the server back while it is not read", async () => {
    let written = 0;
    answer = (_, response) => {
      const chunk = "x".repeat(100_000);
      const more = () => {
        while (written < 100e6 && response.write(chunk)) written += chunk.length;
      };
      response.on("drain", more);
      more();
    };
    const abort = new AbortController();
    const { body } = await open(abort.signal);
    for await (const _ of body) {
      await new Promise((resolve) => setTimeout(resolve, 200));
      break;
    }
    expect(written).toBeLessThan(50e6);
    abort.abort();
  });
});
