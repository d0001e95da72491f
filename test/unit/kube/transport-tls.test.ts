import { createServer } from "node:https";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { TlsMaterial } from "../../../src/kube/config/credentials.ts";
import { createKubeTransport } from "../../../src/kube/transport/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import { listen } from "../../support/local-server.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";

const certificate = opensslCertificate();
const other = opensslCertificate();
const trusting = (ca: string): TlsMaterial => ({ ca: [ca], insecure: false });

const hasAll = certificate !== undefined && other !== undefined;

describe.runIf(hasAll)("over TLS", () => {
  if (certificate === undefined || other === undefined) return;
  let connections: number;
  let tls: TlsMaterial;
  let get: () => Promise<string>;

  beforeEach(async () => {
    connections = 0;
    tls = trusting(certificate.cert);
    const server = createServer(certificate, (_, response) => response.end("hello"));
    server.on("secureConnection", () => {
      connections += 1;
    });
    const url = `https://127.0.0.1:${(await listen(server)).port}`;
    const endpoint = {
      server: url,
      proxyUrl: undefined,
      namespace: undefined,
      credentials: () => Promise.resolve({ tls, headers: {} }),
    };
    const transport = createKubeTransport({ endpoint, clock: systemClock, connections: 1 });
    const call = { method: "GET", url, headers: {}, timeoutMs: 2_000, maxBytes: 1_000 } as const;
    get = () =>
      transport.send(call).then(
        ({ status }) => String(status),
        (error: unknown) => String(error),
      );
    onTestFinished(() => transport.close());
  });

  test("a connection is kept for as long as the authority is the same", async () => {
    expect([await get(), await get()]).toEqual(["200", "200"]);
    expect(connections).toBe(1);
  });

  test("a new authority counts from the next call on", async () => {
    expect(await get()).toBe("200");
    tls = trusting(other.cert);
    expect(await get()).toContain("DEPTH_ZERO_SELF_SIGNED_CERT");
    tls = trusting(certificate.cert);
    expect(await get()).toBe("200");
    expect(connections).toBe(2);
  });

  test("a certificate that cannot be read means that nothing is sent, and is not quoted", async () => {
    tls = { ...trusting(certificate.cert), cert: "no certificate", key: certificate.key };
    expect(await get()).toBe(
      "HttpError: the certificates or the key for the API server cannot be read",
    );
    expect(connections).toBe(0);
    tls = trusting(certificate.cert);
    expect(await get()).toBe("200");
  });

  test.each([
    ["127.0.0.1", "200"],
    ["127.0.0.2", "HttpError: the connection failed (ERR_TLS_CERT_ALTNAME_INVALID)"],
    ["localhost", "200"],
    ["elsewhere.test", "HttpError: the connection failed (ERR_TLS_CERT_ALTNAME_INVALID)"],
  ])(
    "the certificate has to be one of %s where the kubeconfig says so",
    async (serverName, got) => {
      tls = { ...trusting(certificate.cert), serverName };
      expect(await get()).toBe(got);
    },
  );
});
