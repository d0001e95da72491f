import { request } from "node:https";
import { expect, test } from "vitest";
import { opensslCertificate } from "../../test/support/openssl-certificate.ts";
import { startIamServer } from "./server.ts";
import { ACCOUNTS } from "./test-client.ts";

const tls = opensslCertificate();

test.skipIf(tls === undefined)("serves, resets and refuses over TLS", async () => {
  if (tls === undefined) return;
  const server = await startIamServer({ tls });
  const status = () => {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    request(`${server.url}${ACCOUNTS}`, { ca: tls.cert, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("error", reject)
      .end();
    return promise;
  };
  expect(server.url).toMatch(/^https:/);
  expect(await status()).toBe(401);
  server.faults.add({ fault: { kind: "Reset", when: "BeforeCommit" } });
  await expect(status()).rejects.toThrow(/hang up|ECONNRESET/);
  await server.faults.setListening(false);
  await expect(status()).rejects.toThrow(/ECONNREFUSED/);
  await server.faults.clear();
  expect(await status()).toBe(401);
  await server.close();
});
