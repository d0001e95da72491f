import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startIamServer } from "./server.ts";
import { ACCOUNTS } from "./test-client.ts";

/** A self-signed certificate for localhost; `undefined` where there is no openssl to make one. */
function certificate(): { key: string; cert: string } | undefined {
  const folder = mkdtempSync(join(tmpdir(), "iam-server-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1";
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  try {
    execFileSync("openssl", [...options.split(" "), "-keyout", key, "-out", cert, ...subject], {
      stdio: "ignore",
    });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const tls = certificate();

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
  server.faults.add({ when: "beforeCommit", action: { kind: "reset" } });
  await expect(status()).rejects.toThrow(/hang up|ECONNRESET/);
  await server.faults.setReachability("refuse");
  await expect(status()).rejects.toThrow(/ECONNREFUSED/);
  await server.faults.clear();
  expect(await status()).toBe(401);
  await server.close();
});
