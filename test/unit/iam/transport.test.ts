import { createServer, type RequestListener } from "node:http";
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { HttpError, type HttpRequest } from "../../../src/http/http.ts";
import { createTransport, type Transport } from "../../../src/iam/exchange/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";
import { clientOf, startConsole } from "./clients.ts";

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const web = async (listener: RequestListener) =>
  `http://127.0.0.1:${await listening(createServer(listener))}`;

function transportTo(origin: string, connections = 4): Transport {
  const transport = createTransport({ origin, connections, clock: systemClock });
  onTestFinished(() => transport.close());
  return transport;
}

const get = (url: string, options: Partial<HttpRequest> = {}): HttpRequest => ({
  method: "GET",
  url,
  headers: {},
  timeoutMs: 2_000,
  maxBytes: 1_000,
  ...options,
});

async function failureOf(sent: Promise<unknown>): Promise<string> {
  const error = await sent.then(
    () => "no failure",
    (reason: unknown) => reason,
  );
  return error instanceof HttpError ? `${error.failure}: ${error.message}` : String(error);
}

test("an answer comes back with its status, headers and body, whatever the status", async () => {
  const url = await web((request, response) => {
    response.writeHead(418, { "X-Many": ["a", "b"] }).end(`${request.method} ${request.url}`);
  });
  const { status, headers, body } = await transportTo(url).send(get(`${url}/a%2Fb?c=d%20e`));
  expect([status, headers["x-many"], body.toString()]).toEqual([418, "a, b", "GET /a%2Fb?c=d%20e"]);
});

test("redirects are answers like any other", async () => {
  let asked = 0;
  const url = await web((_, response) => {
    asked += 1;
    response.writeHead(307, { location: "/elsewhere" }).end();
  });
  expect((await transportTo(url).send(get(url))).status).toBe(307);
  expect(asked).toBe(1);
});

test("an informational answer is passed over", async () => {
  const url = await web((_, response) => {
    response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
    response.end("done");
  });
  const { status, body } = await transportTo(url).send(get(url));
  expect([status, body.toString()]).toEqual([200, "done"]);
});

test.each([
  { name: "announced", headers: { "content-length": "1001" } },
  { name: "unannounced", headers: {} },
])("a body beyond the bound, $name, is given up", async ({ headers }) => {
  const url = await web((_, response) => response.writeHead(200, headers).end("x".repeat(1_001)));
  expect(await failureOf(transportTo(url).send(get(url)))).toBe(
    "tooLarge: the answer is larger than 1000 bytes",
  );
});

test("a body at the bound is taken, and the connection is used again", async () => {
  const ports = new Set<number | undefined>();
  const url = await web((request, response) => {
    ports.add(request.socket.remotePort);
    response.end("x".repeat(1_000));
  });
  const { send } = transportTo(url);
  for (let n = 0; n < 3; n += 1) {
    expect((await send(get(url))).body).toHaveLength(1_000);
    // The pool takes note of the free connection a moment later.
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(ports.size).toBe(1);
});

test("a POST never uses a connection that was idle for a second, since its outcome would be open if the server closed it", async () => {
  const ports: (number | undefined)[] = [];
  const url = await web((request, response) => {
    ports.push(request.socket.remotePort);
    response.setHeader("keep-alive", "timeout=60");
    response.end();
  });
  const { send } = transportTo(url);
  const post = () => send(get(url, { method: "POST", body: "{}" }));
  await post();
  await sleep(500);
  await post();
  await sleep(1_200);
  await post();
  const [first, second, third] = ports;
  expect(second).toBe(first);
  expect(third).not.toBe(first);
});

test.each([
  { name: "hangs", listener: () => undefined },
  {
    name: "drips",
    listener: ((_, response) => {
      response.writeHead(200);
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    }) as RequestListener,
  },
])("a server that $name ends with the deadline", async ({ listener }) => {
  const url = await web(listener);
  expect(await failureOf(transportTo(url).send(get(url, { timeoutMs: 300 })))).toBe(
    "timeout: no answer within 300 ms",
  );
});

test("a truncated body is no answer", async () => {
  const url = await web((_, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("half", () => response.socket?.resetAndDestroy());
  });
  expect(await failureOf(transportTo(url).send(get(url)))).toMatch(
    /^network: the connection failed/,
  );
});

test("bytes that are not HTTP are not quoted", async () => {
  const port = await listening(createTcpServer((socket) => socket.end("hunter2 hunter2\r\n\r\n")));
  const url = `http://127.0.0.1:${port}`;
  const failure = await transportTo(url)
    .send(get(url))
    .catch((error: unknown) => error);
  expect(String(failure)).toMatch(/the connection failed \(HTTPParserError\)/);
  expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("hunter2");
});

test("nobody listening is a refusal", async () => {
  const url = await web(() => undefined);
  const { send } = transportTo("http://127.0.0.1:1");
  expect(await failureOf(send(get("http://127.0.0.1:1")))).toBe(
    "refused: the connection failed (ECONNREFUSED)",
  );
  expect(await failureOf(send(get(url)))).toBe("refused: the URL is of another origin");
});

test("an unknown host is a refusal", async () => {
  const url = "http://console.invalid";
  expect(await failureOf(transportTo(url).send(get(url)))).toMatch(
    /^refused: the connection failed/,
  );
});

test("a handshake that never ends is a refusal: nothing was sent", async () => {
  const port = await listening(createTcpServer(() => undefined));
  const url = `https://127.0.0.1:${port}`;
  expect(await failureOf(transportTo(url).send(get(url, { timeoutMs: 200 })))).toBe(
    "refused: no answer within 200 ms",
  );
});

test("a request given up while it waits for a connection is never sent", async () => {
  const seen: (string | undefined)[] = [];
  const url = await web((request, response) => {
    seen.push(request.url);
    setTimeout(() => response.end(), 300);
  });
  const { send } = transportTo(url, 1);
  const first = send(get(`${url}/first`));
  const second = failureOf(send(get(`${url}/second`, { timeoutMs: 100 })));
  expect(await second).toBe("refused: no answer within 100 ms");
  await first;
  await send(get(`${url}/third`));
  expect(seen).toEqual(["/first", "/third"]);
});

test.each(["GET", "POST"] as const)(
  "a %s that may no longer be sent when it has its connection is never sent",
  async (method) => {
    const seen: (string | undefined)[] = [];
    let mayBeSent = true;
    const url = await web((request, response) => {
      seen.push(request.url);
      mayBeSent = false;
      response.end();
    });
    const { send } = transportTo(url, 1);
    const beforeSending = () => {
      if (!mayBeSent) throw new Error("the lease may be lost");
    };
    await send(get(`${url}/first`, { method, beforeSending }));
    expect(await failureOf(send(get(`${url}/second`, { method, beforeSending })))).toBe(
      "refused: the call is no longer allowed",
    );
    expect(seen).toEqual(["/first"]);
  },
);

test("a call can be cancelled before and while it is under way", async () => {
  const arrived = Promise.withResolvers<void>();
  const url = await web(() => arrived.resolve());
  const { send } = transportTo(url);
  const cancel = new AbortController();
  const sent = failureOf(send(get(url, { signal: cancel.signal })));
  await arrived.promise;
  cancel.abort();
  expect(await sent).toBe("aborted: the call was cancelled");
  expect(await failureOf(send(get(url, { signal: cancel.signal })))).toBe(
    "refused: the call was cancelled",
  );
});

test("a header that HTTP cannot carry is refused", async () => {
  const url = await web((_, response) => response.end());
  const sent = transportTo(url).send(get(url, { headers: { "x-name": "a\r\nb: c" } }));
  expect(await failureOf(sent)).toMatch(/^refused: /);
});

test("closing ends what is under way", async () => {
  const arrived = Promise.withResolvers<void>();
  const url = await web(() => arrived.resolve());
  const transport = transportTo(url);
  const sent = failureOf(transport.send(get(url)));
  await arrived.promise;
  await transport.close();
  expect(await sent).toBe("network: the connection failed (UND_ERR_DESTROYED)");
  expect(await failureOf(transport.send(get(url)))).toMatch(/^refused: /);
});

const tls = opensslCertificate();

test.skipIf(tls === undefined)(
  "a private authority is trusted where the connection names it",
  async () => {
    if (tls === undefined) return;
    const server = await startConsole({ tls });
    await clientOf(server, { caBundle: tls.cert }).authenticate();
    await expect(clientOf(server).authenticate()).rejects.toMatchObject({
      code: "Unavailable",
      sent: false,
      message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
    });
    expect(server.requests.count("login")).toBe(1);
  },
);

const other = opensslCertificate();

test.skipIf(tls === undefined || other === undefined)(
  "authorities of the system are trusted unless the connection trusts its own alone",
  async () => {
    if (tls === undefined || other === undefined) return;
    const server = await startConsole({ tls });
    const system = getCACertificates("default");
    setDefaultCACertificates([...system, tls.cert]);
    try {
      await clientOf(server, { caBundle: other.cert }).authenticate();
      const distrusting = clientOf(server, { caBundle: other.cert, trustOnlyCABundle: true });
      await expect(distrusting.authenticate()).rejects.toMatchObject({
        sent: false,
        message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
      });
      await clientOf(server, { caBundle: tls.cert, trustOnlyCABundle: true }).authenticate();
    } finally {
      setDefaultCACertificates(system);
    }
  },
);
