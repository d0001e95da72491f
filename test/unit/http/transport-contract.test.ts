/** The contract of the transports to the API server and to a console, over real sockets. */
import type { RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { createServer as createTcpServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createTransport } from "../../../src/console/exchange/transport.ts";
import type { HttpRequest, SendHttp } from "../../../src/http/http.ts";
import { parseRetryAfter } from "../../../src/http/retry-after.ts";
import { createKubeTransport } from "../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import { startConnectProxy } from "../../support/connect-proxy.ts";
import { trustByDefault } from "../../support/default-authorities.ts";
import { get, outcomeOf } from "../../support/http-call.ts";
import { drip, listen, silence, startWeb } from "../../support/local-server.ts";
import { opensslCertificate, opensslPki } from "../../support/openssl-certificate.ts";
import { startTlsFront } from "../../support/tls-front.ts";

interface Target {
  readonly url: string;
  readonly ca?: string;
  readonly proxy?: string;
  readonly connections?: number;
}

interface Transport {
  readonly send: SendHttp;
  close(): Promise<void>;
}

function toApiServer({ url, ca, proxy, connections = 4 }: Target): Transport {
  const tls = { insecure: false, ...(ca === undefined ? {} : { ca: [ca] }) };
  const endpoint = {
    server: url,
    proxyUrl: proxy,
    namespace: undefined,
    credentials: () => Promise.resolve({ tls, headers: {} }),
  };
  return createKubeTransport({ endpoint, clock: systemClock, connections });
}

function toConsole({ url, ca, proxy, connections = 4 }: Target): Transport {
  return createTransport({
    origin: url,
    ...(proxy === undefined ? {} : { proxy }),
    ...(ca === undefined ? {} : { caBundle: ca }),
    connections,
    clock: systemClock,
  });
}

const [certificate, other] = [opensslCertificate(), opensslCertificate()];
const ofProxy = opensslPki("unknown");

describe.each([
  { to: "the API server", create: toApiServer, unsent: "timeout" },
  // A console call that was refused cannot have issued a key.
  { to: "a console", create: toConsole, unsent: "refused" },
])("a transport to $to", ({ create, unsent }) => {
  const open = (target: Target): SendHttp => {
    const transport = create(target);
    onTestFinished(() => transport.close());
    return transport.send;
  };
  const callTo = async (listener: RequestListener, options: Partial<HttpRequest> = {}) => {
    const { url } = await startWeb(listener);
    return open({ url })(get(url, options));
  };

  test("returns status, headers and body, whatever the status", async () => {
    const { url } = await startWeb((request, response) => {
      response.writeHead(418, { "X-Many": ["a", "b"] }).end(`${request.method} ${request.url}`);
    });
    const { status, headers, body } = await open({ url })(get(`${url}/a%2Fb?c=d%20e`));
    const text = body.toString();
    expect([status, headers["x-many"], text]).toEqual([418, "a, b", "GET /a%2Fb?c=d%20e"]);
  });

  test("joins a header that is repeated, however its name is spelled", async () => {
    const lines = ["Retry-After: 7", "retry-after: 30", "RETRY-AFTER: Thu Jan  1 00:00:00 1970"];
    const answer = ["HTTP/1.1 503 Busy", ...lines, "Content-Length: 0", "", ""].join("\r\n");
    const tcp = createTcpServer((socket) => socket.on("error", () => undefined).end(answer));
    const url = `http://127.0.0.1:${(await listen(tcp)).port}`;
    const { headers } = await open({ url })(get(url));
    const now = Date.UTC(2026, 0, 1);
    expect(parseRetryAfter(headers, now)).toBe(now + 30_000);
  });

  test("does not follow redirects", async () => {
    const { url, requests } = await startWeb((_, response) =>
      response.writeHead(307, { location: "/elsewhere" }).end(),
    );
    expect((await open({ url })(get(url))).status).toBe(307);
    expect(requests).toEqual(["/"]);
  });

  test("passes over an informational answer", async () => {
    const { status, body } = await callTo((_, response) => {
      response.writeEarlyHints({ link: "</style.css>; rel=preload; as=style" });
      response.end("done");
    });
    expect([status, body.toString()]).toEqual([200, "done"]);
  });

  test.each([
    { name: "announced", headers: { "content-length": "1001" } },
    { name: "unannounced", headers: {} },
  ])("gives up a body beyond the bound, $name", async ({ headers }) => {
    const sent = callTo((_, response) => response.writeHead(200, headers).end("x".repeat(1_001)));
    expect(await outcomeOf(sent)).toBe("tooLarge: the answer is larger than 1000 bytes");
  });

  test("takes a body at the bound, and uses the connection again", async () => {
    const ports = new Set<number | undefined>();
    const { url } = await startWeb((request, response) => {
      ports.add(request.socket.remotePort);
      response.end("x".repeat(1_000));
    });
    const send = open({ url });
    for (let n = 0; n < 3; n += 1) {
      expect((await send(get(url))).body).toHaveLength(1_000);
      // The pool takes note of the free connection a moment later.
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(ports.size).toBe(1);
  });

  test("shares a bounded number of connections among its calls", async () => {
    let most = 0;
    const { url, openSockets } = await startWeb((_, response) => {
      most = Math.max(most, openSockets());
      response.end();
    });
    const send = open({ url, connections: 2 });
    await Promise.all(Array.from({ length: 50 }, () => send(get(url))));
    expect(most).toBe(2);
  });

  test.each([
    { name: "hangs", listener: silence },
    { name: "drips", listener: drip },
  ])("ends a call with its deadline if the server $name", async ({ listener }) => {
    const sent = callTo(listener, { timeoutMs: 300 });
    expect(await outcomeOf(sent)).toBe("timeout: no answer within 300 ms");
  });

  test("takes a truncated body for no answer", async () => {
    const sent = callTo((_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("half", () => response.socket?.resetAndDestroy());
    });
    expect(await outcomeOf(sent)).toMatch(/^network: the connection failed/);
  });

  test("takes a call that is cut off for a network failure: the server may have carried it out", async () => {
    const sent = callTo(({ socket }) => socket.destroy(), { method: "POST", body: "x" });
    expect(await outcomeOf(sent)).toMatch(/^network: /);
  });

  test("does not quote bytes that are not HTTP", async () => {
    const tcp = createTcpServer((socket) => socket.end("hunter2 hunter2\r\n\r\n"));
    const url = `http://127.0.0.1:${(await listen(tcp)).port}`;
    const failure = await open({ url })(get(url)).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/the connection failed \(HTTPParserError\)/);
    expect(JSON.stringify(failure, Object.getOwnPropertyNames(failure))).not.toContain("hunter2");
  });

  test.each([
    ["no server", "http://127.0.0.1:1"],
    ["an unknown host", "http://console.invalid"],
  ])("is refused by %s", async (_, url) => {
    expect(await outcomeOf(open({ url })(get(url)))).toMatch(/^refused: the connection failed/);
  });

  test("never sends a request that was given up while it waited for a connection", async () => {
    const { url, requests } = await startWeb(
      (_, response) => void setTimeout(() => response.end(), 300),
    );
    const send = open({ url, connections: 1 });
    const first = send(get(`${url}/first`));
    const second = send(get(`${url}/second`, { timeoutMs: 100 }));
    expect(await outcomeOf(second)).toBe(`${unsent}: no answer within 100 ms`);
    await first;
    await send(get(`${url}/third`));
    expect(requests).toEqual(["/first", "/third"]);
  });

  test.each(["GET", "POST"] as const)(
    "never sends a %s that may no longer be sent when it has its connection",
    async (method) => {
      let mayBeSent = true;
      const { url, requests } = await startWeb((_, response) => {
        mayBeSent = false;
        response.end();
      });
      const send = open({ url, connections: 1 });
      const forbidden = new Error("the lease may be lost");
      const beforeSending = () => {
        if (!mayBeSent) throw forbidden;
      };
      await send(get(`${url}/first`, { method, beforeSending }));
      await expect(send(get(`${url}/second`, { method, beforeSending }))).rejects.toMatchObject({
        failure: "refused",
        message: "the call is no longer allowed",
        cause: forbidden,
      });
      expect(requests).toEqual(["/first"]);
    },
  );

  test("can cancel a call before and while it is under way", async () => {
    const { url, requests } = await startWeb(silence);
    const send = open({ url });
    const cancel = new AbortController();
    const sent = outcomeOf(send(get(url, { signal: cancel.signal })));
    await vi.waitFor(() => expect(requests).toHaveLength(1));
    cancel.abort();
    expect(await sent).toBe("aborted: the call was cancelled");
    expect(await outcomeOf(send(get(url, { signal: cancel.signal })))).toMatch(
      /: the call was cancelled$/,
    );
    expect(requests).toHaveLength(1);
  });

  test("refuses a header that HTTP cannot carry", async () => {
    const sent = callTo((_, response) => response.end(), { headers: { "x-name": "a\r\nb: c" } });
    expect(await outcomeOf(sent)).toMatch(/^refused: /);
  });

  describe.runIf(certificate && other && ofProxy)("over TLS", () => {
    const startSecure = async () => {
      const requests: string[] = [];
      const server = createTlsServer({ ...certificate }, (request, response) => {
        requests.push(request.url ?? "");
        response.end();
      });
      return { url: `https://127.0.0.1:${(await listen(server)).port}`, requests };
    };
    const trusted = certificate?.cert ?? "";

    test("trusts a private authority where it is named, and sends nothing otherwise", async () => {
      const { url, requests } = await startSecure();
      expect(await outcomeOf(open({ url, ca: trusted })(get(url)))).toBe("200");
      for (const target of [{ url }, { url, ca: other?.cert ?? "" }])
        expect(await outcomeOf(open(target)(get(url)))).toBe(
          "refused: the connection failed (DEPTH_ZERO_SELF_SIGNED_CERT)",
        );
      expect(requests).toHaveLength(1);
    });

    test("judges the server's certificate through a proxy as well", async () => {
      const { url, requests } = await startSecure();
      await using proxy = await startConnectProxy();
      const through = (ca: string) => open({ url, proxy: proxy.url, ca })(get(url));
      expect(await outcomeOf(through(trusted))).toBe("200");
      expect(await outcomeOf(through(other?.cert ?? ""))).toMatch(/^refused: /);
      expect(proxy.asked).toEqual(Array(2).fill(new URL(url).host));
      expect(requests).toHaveLength(1);
    });

    test("reaches a proxy with TLS by its address", async () => {
      const { url } = await startSecure();
      await using tunnel = await startConnectProxy();
      await using proxy = await startTlsFront(tunnel, ofProxy!, { demanding: false });
      using _ = trustByDefault(ofProxy!.authority.cert);
      expect(await outcomeOf(open({ url, ca: trusted, proxy: proxy.url })(get(url)))).toBe("200");
      expect(tunnel.asked).toEqual([new URL(url).host]);
    });

    test.each([403, 407, 502])("sends nothing if the proxy answers %d", async (status) => {
      const { url, requests } = await startSecure();
      await using proxy = await startConnectProxy({ status });
      const sent = open({ url, ca: trusted, proxy: proxy.url })(get(url));
      expect(await outcomeOf(sent)).toMatch(/^refused: /);
      expect(requests).toEqual([]);
    });

    test("is refused if the proxy does not exist", async () => {
      const { url } = await startSecure();
      const proxy = await startConnectProxy();
      await proxy[Symbol.asyncDispose]();
      const sent = open({ url, ca: trusted, proxy: proxy.url })(get(url));
      expect(await outcomeOf(sent)).toMatch(/^refused: /);
    });
  });
});
