/** One host has one canonical spelling, and everything that compares hosts or names a server uses it. */
import dns from "node:dns";
import { createServer } from "node:https";
import { syncBuiltinESMExports } from "node:module";
import type { TLSSocket } from "node:tls";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { egressFor } from "../../../src/app/console-egress.ts";
import { originOf } from "../../../src/connections/connection-origin.ts";
import { createTransport } from "../../../src/console/exchange/transport.ts";
import { createAddressPolicy } from "../../../src/http/address-policy.ts";
import { proxyFor } from "../../../src/http/proxy.ts";
import { servedAs } from "../../../src/http/server-name.ts";
import { createKubeTransport } from "../../../src/kube/transport/transport.ts";
import { canonicalHost } from "../../../src/util/host.ts";
import { systemClock } from "../../../src/util/time.ts";
import { startConnectProxy } from "../../support/connect-proxy.ts";
import { get } from "../../support/http-call.ts";
import { listen } from "../../support/local-server.ts";
import { type Certificate, opensslCertificate } from "../../support/openssl-certificate.ts";

test.each([
  ["console.example.com", "console.example.com"],
  ["Console.EXAMPLE.com.", "console.example.com"],
  ["bücher.example", "xn--bcher-kva.example"],
  ["xn--bcher-kva.example.", "xn--bcher-kva.example"],
  ["10.1.2.3", "10.1.2.3"],
  ["10.1.2.3.", "10.1.2.3"],
  ["[FD00::1]", "fd00::1"],
  ["fd00::1", "fd00::1"],
  ["a b", "a b"],
  ["", ""],
])("the canonical spelling of %j is %j", (given, expected) => {
  expect(canonicalHost(given)).toBe(expected);
  expect(canonicalHost(canonicalHost(given))).toBe(expected);
});

const spellings = ["localhost", "localhost.", "LOCALHOST", "LocalHost."];
const names = ["bücher.example", "bücher.example.", "xn--bcher-kva.example", "BÜCHER.example."];
const each = (hosts: readonly string[]) => hosts.map((host) => [host]);

describe.each(each(names))("NO_PROXY with %s", (none) => {
  const environment = { https: "http://proxy:3128", http: "", none: "" };

  test.each(each(names))("excepts %s, and its subdomains", (host) => {
    for (const entry of [none, `${none}:443`])
      for (const url of [`https://${host}`, `https://a.${host}`])
        expect(proxyFor(url, { ...environment, none: entry })).toBeUndefined();
    for (const entry of [`.${none}`, `*.${none}`]) {
      expect(proxyFor(`https://${host}`, { ...environment, none: entry })).toBe(environment.https);
      expect(proxyFor(`https://a.${host}`, { ...environment, none: entry })).toBeUndefined();
    }
  });
});

test.each(each([...spellings, "127.0.0.1.", "[::1]"]))("%s is never reached by a proxy", (host) => {
  const environment = { https: "http://proxy:3128", http: "", none: "" };
  expect(proxyFor(`https://${host}:8443`, environment)).toBeUndefined();
});

test.each(each(spellings))("the console at %s is the console at localhost", (host) => {
  expect(originOf(`https://${host}:8443/path`)).toBe("https://localhost:8443");
});

test("an IPv6 address stays one in a console's origin", () => {
  expect(originOf("https://[FD00::1]:8443")).toBe("https://[fd00::1]:8443");
});

test("a refused address stays refused with a dot", () => {
  const proxy = { https: "http://proxy:3128", http: "", none: "" };
  const addresses = createAddressPolicy();
  const baseURL = "https://169.254.169.254.";
  const config = { proxy, connectionNetworks: [] };
  expect(egressFor("Connection/team-a/own", { baseURL }, config, addresses)).toEqual({ addresses });
});

const made = opensslCertificate();

describe.runIf(made !== undefined).each(each(spellings))("the TLS server name for %s", (host) => {
  const certificate = made as Certificate;
  // No resolver here knows a name with a dot.
  const { lookup } = dns;
  afterEach(() => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  });
  const startServer = async () => {
    dns.lookup = vi.fn((name: string, ...rest: unknown[]) =>
      (lookup as (...args: unknown[]) => void)(name.replace(/\.$/, ""), ...rest),
    ) as unknown as typeof lookup;
    syncBuiltinESMExports();
    const seen: unknown[] = [];
    const server = createServer(certificate, (request, response) => {
      seen.push((request.socket as TLSSocket).servername);
      response.end();
    });
    onTestFinished(() => void server.close());
    return { seen, url: `https://${host}:${(await listen(server)).port}` };
  };
  const through = async (isProxied: boolean) => {
    const proxy = isProxied ? await startConnectProxy() : undefined;
    return proxy === undefined ? {} : { proxy: proxy.url };
  };

  test.each([[false], [true]])(
    "of a console has no dot (through a proxy: %s)",
    async (isProxied) => {
      const { seen, url } = await startServer();
      const { origin } = new URL(url);
      const trust = { caBundle: certificate.cert, connections: 1, clock: systemClock };
      const transport = createTransport({ origin, ...trust, ...(await through(isProxied)) });
      onTestFinished(() => transport.close());
      expect((await transport.send(get(url))).status).toBe(200);
      expect(seen).toEqual(["localhost"]);
    },
  );

  test.each([[false], [true]])(
    "of an API server has no dot (through a proxy: %s)",
    async (isProxied) => {
      const { seen, url } = await startServer();
      const { proxy: proxyUrl } = await through(isProxied);
      const tls = { insecure: false, ca: [certificate.cert] };
      const credentials = () => Promise.resolve({ tls, headers: {} });
      const endpoint = { server: url, proxyUrl, namespace: undefined, credentials };
      const transport = createKubeTransport({ endpoint, clock: systemClock, connections: 1 });
      onTestFinished(() => transport.close());
      expect((await transport.send(get(url))).status).toBe(200);
      expect(seen).toEqual(["localhost"]);
    },
  );

  test("that a kubeconfig asks for has no dot", () => {
    expect(servedAs(host)).toEqual({ servername: "localhost" });
  });
});
