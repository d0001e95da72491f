import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import {
  type Guard,
  type HttpServer,
  metricsPages,
  type Pages,
  probePages,
  serve,
} from "../../../src/observability/http-server.ts";
import { systemClock } from "../../../src/util/time.ts";

let server: HttpServer | undefined;
afterEach(() => server?.close());

async function start(pages: Pages, guard?: Guard) {
  const options = { host: "127.0.0.1", port: 0, pages, clock: systemClock };
  server = await serve({ ...options, ...(guard && { guard }) });
  const url = `http://127.0.0.1:${server.port}`;
  return async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}${path}`, init);
    return [response.status, await response.text()];
  };
}

describe("probes", () => {
  test("say which check fails and why", async () => {
    let reason: string | undefined = "ApiKey is not synced";
    const get = await start(
      probePages({ live: { queues: () => undefined }, ready: { caches: () => reason } }),
    );
    expect(await get("/healthz")).toEqual([200, "[+] queues ok\nok\n"]);
    expect(await get("/readyz")).toEqual([
      503,
      "[-] caches failed: ApiKey is not synced\nfailed\n",
    ]);
    reason = undefined;
    expect(await get("/readyz?verbose")).toEqual([200, "[+] caches ok\nok\n"]);
  });
});

describe("scrapes", () => {
  test("that come together share one rendering", async () => {
    let renderings = 0;
    const render = async () => {
      renderings += 1;
      await systemClock.sleep(200);
      return [Buffer.from("metric "), Buffer.from("1\n")];
    };
    const get = await start(metricsPages(render, "text/plain; version=0.0.4"));
    const answers = await Promise.all([get("/metrics"), get("/metrics"), get("/metrics")]);
    expect([answers, renderings]).toEqual([Array(3).fill([200, "metric 1\n"]), 1]);
    await get("/metrics");
    expect(renderings).toBe(2);
  });
});

describe("the server", () => {
  const pages: Pages = {
    "/fails": () => {
      throw new Error("canary");
    },
  };

  test.each([
    ["GET", "/nothing", 404, "not found\n"],
    ["GET", "/constructor", 404, "not found\n"],
    ["POST", "/fails", 405, "method not allowed\n"],
    ["GET", "/fails", 500, "internal error\n"],
    ["HEAD", "/fails", 500, ""],
  ])("answers %s %s with %d", async (method, path, status, text) => {
    const get = await start(pages);
    expect(await get(path, { method })).toEqual([status, text]);
  });

  test("answers a client whose permission cannot be checked with 500", async () => {
    const get = await start(pages, () => Promise.reject(new Error("canary")));
    expect(await get("/fails")).toEqual([500, "internal error\n"]);
  });

  test("closes the connection if it cannot answer, and goes on", async () => {
    const page = { status: 200, contentType: "no\nheader", text: "" };
    const get = await start({ "/broken": () => page });
    await expect(get("/broken")).rejects.toThrow("fetch failed");
    expect(await get("/nothing")).toEqual([404, "not found\n"]);
  });

  test("refuses a port that is taken", async () => {
    await start({});
    const again = serve({ host: "127.0.0.1", port: server?.port ?? 0, pages, clock: systemClock });
    await expect(again).rejects.toThrow("EADDRINUSE");
  });

  test("closes though somebody holds a connection open", async () => {
    await start({});
    const socket = connect(server?.port ?? 0, "127.0.0.1");
    await new Promise((resolve) => socket.once("connect", resolve));
    socket.write("GET / HTTP/1.1\r\n");
    const startedAt = systemClock.monotonic();
    await server?.close();
    expect(systemClock.monotonic() - startedAt).toBeLessThan(5_000);
    socket.destroy();
  });
});
