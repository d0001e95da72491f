import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HttpError, type HttpRequest } from "../../../src/http/http.ts";
import type { KubeCredentials, KubeEndpoint } from "../../../src/kube/config/credentials.ts";
import { createKubeTransport, type KubeTransport } from "../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import {
  respond,
  type Script,
  type ScriptedServer,
  silence,
  startScriptedServer,
  stream,
} from "./scripted-server.ts";

let server: ScriptedServer;
let transport: KubeTransport;
let observed: string[];

beforeEach(async () => {
  server = await startScriptedServer();
  observed = [];
  transport = connect(server.endpoint);
});

afterEach(async () => {
  await transport.close();
  await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  await server.stop();
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

describe("a call", () => {
  test("gives status, headers and body", async () => {
    server.onList(respond("hello", 418, { "X-One": "1" }));
    const { status, headers, body } = await transport.send(call());
    expect([status, headers["x-one"], body.toString()]).toEqual([418, "1", "hello"]);
    expect(observed).toEqual(["GET 418"]);
  });

  test("shares a bounded number of connections with the others", async () => {
    let most = 0;
    server.onList((response, request) => {
      most = Math.max(most, server.openSockets());
      respond("x")(response, request);
    });
    await Promise.all(Array.from({ length: 50 }, () => transport.send(call())));
    expect(most).toBe(2);
  });

  test("of the lease has connections of its own", async () => {
    server.onList(silence, silence, respond("renewed"));
    const stuck = [call(), call()].map((one) =>
      failureOf(transport.send({ ...one, timeoutMs: 300 })),
    );
    await vi.waitFor(() => expect(server.requests).toHaveLength(2));
    expect((await transport.sendLease(call())).body.toString()).toBe("renewed");
    expect(await Promise.all(stuck)).toEqual(["timeout", "timeout"]);
  });

  const dripping: Script = (response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(timer));
  };

  test.each([
    ["that never comes", silence],
    ["that drips", dripping],
  ])("has one deadline for an answer %s", async (_, script) => {
    server.onList(script);
    expect(await failureOf(transport.send(call({ timeoutMs: 150 })))).toBe("timeout");
    await vi.waitFor(() => expect(observed).toEqual(["GET <error>"]));
  });

  test("reads no more than it may", async () => {
    server.onList(respond("x".repeat(1_001)));
    expect(await failureOf(transport.send(call()))).toBe("tooLarge");
    server.onList(respond("x".repeat(1_000)));
    expect((await transport.send(call())).body).toHaveLength(1_000);
  });

  test("waits for a connection, and is not sent if it may not be any more when it has one", async () => {
    let mayBeSent = true;
    const forbidden = new Error("the lease may be lost");
    const beforeSending = () => {
      if (!mayBeSent) throw forbidden;
    };
    server.onList((response, request) => {
      mayBeSent = false;
      respond("x")(response, request);
    });
    await transport.send(call({ beforeSending }));
    const error = await transport.send(call({ beforeSending })).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ failure: "refused", cause: forbidden });
    expect(server.requests).toHaveLength(1);
  });

  test("can be aborted", async () => {
    server.onList(silence);
    const abort = new AbortController();
    const failure = failureOf(transport.send(call({ signal: abort.signal })));
    await vi.waitFor(() => expect(server.requests).toHaveLength(1));
    abort.abort();
    expect(await failure).toBe("aborted");
    expect(await failureOf(transport.send(call({ signal: abort.signal })))).toBe("aborted");
    expect(server.requests).toHaveLength(1);
  });

  test("that is cut off is a network failure, for nobody knows what the server did", async () => {
    server.onList((_, request) => request.socket.destroy());
    expect(await failureOf(transport.send(call({ method: "POST", body: "x" })))).toBe("network");
  });

  test("to nobody is refused", async () => {
    const nobody: Server = createServer();
    nobody.listen(0, "127.0.0.1");
    await once(nobody, "listening");
    const url = `http://127.0.0.1:${(nobody.address() as AddressInfo).port}`;
    nobody.close();
    const other = connect({ ...server.endpoint, server: url });
    expect(await failureOf(other.send(call({ url })))).toBe("refused");
    await other.close();
  });

  test("does not follow redirects", async () => {
    server.onList(respond("", 302, { location: `${server.url}/elsewhere` }));
    expect((await transport.send(call())).status).toBe(302);
    expect(server.requests).toHaveLength(1);
  });
});

describe("a refused token", () => {
  const withToken = (token: string): KubeCredentials => ({
    tls: { insecure: false },
    headers: { authorization: `Bearer ${token}` },
  });

  /** An endpoint whose token file has changed since it was last read. */
  function rotating(): KubeEndpoint & { reads: number } {
    let current = withToken("old");
    const endpoint = {
      ...server.endpoint,
      reads: 0,
      credentials: (rejected?: KubeCredentials) => {
        if (rejected === current) {
          endpoint.reads += 1;
          current = withToken("new");
        }
        return Promise.resolve(current);
      },
    };
    return endpoint;
  }

  const onlyNew: Script = (response, request) => {
    const isNew = request.headers.authorization === "Bearer new";
    (isNew ? stream("fine") : respond("no", 401))(response, request);
    if (isNew) response.end();
  };

  test("is read again once, and the call sent again once, for all calls together", async () => {
    server.onList(onlyNew);
    const endpoint = rotating();
    const other = connect(endpoint);
    const answers = await Promise.all(
      [1, 2, 3].map(() => other.send(call({ method: "POST", body: "x" }))),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(endpoint.reads).toBe(1);
    await other.close();
  });

  test("that stays refused is the caller's business", async () => {
    server.onList(respond("no", 401));
    expect((await transport.send(call())).status).toBe(401);
    expect(observed).toEqual(["GET 401", "GET 401"]);
  });

  test("is read again for streams as well", async () => {
    server.onWatch(onlyNew);
    const other = connect(rotating());
    const { status } = await other.openStream({
      url: `${server.url}/api?watch=true`,
      headers: {},
      headTimeoutMs: 1_000,
      signal: AbortSignal.timeout(2_000),
    });
    expect(status).toBe(200);
    await other.close();
  });

  test("that cannot be had means that nothing was sent, and is not quoted", async () => {
    const credentials = () => Promise.reject(new Error("canary"));
    const other = connect({ ...server.endpoint, credentials });
    const error = await other.send(call()).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ failure: "refused", message: "no credentials (Error)" });
    await other.close();
  });

  test("that cannot be read in time costs no more than the deadline", async () => {
    const stuck = connect({ ...server.endpoint, credentials: () => new Promise(() => undefined) });
    expect(await failureOf(stuck.send(call({ timeoutMs: 100 })))).toBe("timeout");
    await stuck.close();
  });
});

describe("a stream", () => {
  const open = (signal: AbortSignal, headTimeoutMs = 1_000) =>
    transport.openStream({
      url: `${server.url}/api?watch=true`,
      headers: {},
      headTimeoutMs,
      signal,
    });

  test("outlives the deadline of its head and throws when aborted", async () => {
    server.onWatch((response, request) => {
      stream("one")(response, request);
      setTimeout(() => response.write("two"), 200);
    });
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
    server.onWatch(silence);
    expect(await failureOf(open(new AbortController().signal, 100))).toBe("timeout");
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("that nobody reads is closed by its signal", async () => {
    server.onWatch(stream("x"));
    const abort = new AbortController();
    await open(abort.signal);
    expect(server.openSockets()).toBe(1);
    abort.abort();
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("that is left early is closed", async () => {
    server.onWatch(stream("x"));
    const { body } = await open(new AbortController().signal);
    for await (const _ of body) break;
    await vi.waitFor(() => expect(server.openSockets()).toBe(0));
  });

  test("holds the server back while it is not read", async () => {
    let written = 0;
    server.onWatch((response) => {
      response.writeHead(200);
      const chunk = "x".repeat(100_000);
      const more = () => {
        while (written < 100e6 && response.write(chunk)) written += chunk.length;
      };
      response.on("drain", more);
      more();
    });
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
