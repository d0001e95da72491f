import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import {
  followCertificate,
  readCertificate,
} from "../../../src/observability/certificate-files.ts";
import {
  type Certificate,
  plain,
  type ServeOptions,
  serve,
} from "../../../src/observability/http-server.ts";
import { selfSigned } from "../../../src/observability/self-signed.ts";
import { silentLog } from "../../../src/util/log.ts";
import { systemClock } from "../../../src/util/time.ts";
import { until } from "../../real-world/until.ts";
import { createFakeClock } from "../../support/fake-clock.ts";

const now = Date.parse("2026-03-04T05:06:07Z");

async function start(options: Partial<ServeOptions>) {
  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    pages: { "/page": () => plain(200, "content") },
    clock: systemClock,
    ...options,
  });
  onTestFinished(() => server.close());
  return server;
}

interface Seen {
  readonly status: number | undefined;
  readonly certificate: string;
}

/** One request on a connection of its own, which trusts `ca` only. */
function get(port: number, ca: string, headers = {}): Promise<Seen> {
  const options = { host: "127.0.0.1", port, path: "/page", ca, headers, agent: false as const };
  return new Promise((resolve, reject) => {
    request({ ...options, servername: "iam-operator" }, (response) => {
      const certificate = (response.socket as TLSSocket).getPeerX509Certificate()?.toString() ?? "";
      response.resume().once("end", () => resolve({ status: response.statusCode, certificate }));
    })
      .once("error", reject)
      .end();
  });
}

test("a self-signed certificate says its name, its time and what it is for, and no other is like it", () => {
  const [first, second] = [selfSigned(now), selfSigned(now)];
  const certificate = new X509Certificate(first.cert);
  expect(certificate.subject).toBe("CN=iam-operator");
  expect(certificate.subjectAltName).toBe("DNS:iam-operator");
  expect(certificate.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
  expect(certificate.validFromDate.toISOString()).toBe("2026-03-04T04:06:07.000Z");
  expect(certificate.validToDate.toISOString()).toBe("2036-03-01T05:06:07.000Z");
  expect(certificate.verify(certificate.publicKey)).toBe(true);
  expect(certificate.serialNumber).not.toBe(new X509Certificate(second.cert).serialNumber);
});

test("HTTPS serves who trusts the certificate and passes the guard", async () => {
  const certificate = selfSigned(systemClock.now());
  const { port } = await start({
    certificate,
    guard: async (authorization) =>
      authorization === "Bearer good" ? undefined : plain(401, "no"),
  });
  expect((await get(port, certificate.cert)).status).toBe(401);
  expect((await get(port, certificate.cert, { authorization: "Bearer good" })).status).toBe(200);
  const other = selfSigned(systemClock.now());
  await expect(get(port, other.cert)).rejects.toThrow("self-signed");
});

test("renewed files are served to the next connection, and half a renewal is passed over", async () => {
  const folder = mkdtempSync(join(tmpdir(), "iam-operator-certificate-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const write = (cert: string, key: string) => {
    writeFileSync(join(folder, "tls.crt"), cert);
    writeFileSync(join(folder, "tls.key"), key);
  };
  const [old, renewed] = [selfSigned(systemClock.now()), selfSigned(systemClock.now())];
  write(old.cert, old.key);
  const known = await readCertificate(folder);
  const server = await start({ certificate: known });
  const clock = createFakeClock();
  const problems: string[] = [];
  const changes: Certificate[] = [];
  const stop = followCertificate({
    folder,
    known,
    clock,
    onChange: (certificate) => {
      changes.push(certificate);
      server.setCertificate(certificate);
    },
    log: { ...silentLog, warn: (_, message) => problems.push(message) },
  });
  onTestFinished(stop);

  write(renewed.cert, old.key);
  await clock.advance(30_000);
  await until("a word about half a renewal", async () => problems.length > 0);
  expect((await get(server.port, old.cert)).certificate).toBe(old.cert);

  write(renewed.cert, renewed.key);
  await until("the renewed certificate", async () => {
    await clock.advance(30_000);
    return changes.length > 0;
  });
  expect((await get(server.port, renewed.cert)).certificate).toBe(renewed.cert);
  expect(changes).toEqual([renewed]);
});

test("files that are missing or no pair are refused", async () => {
  await expect(readCertificate("/nowhere")).rejects.toThrow("ENOENT");
});
