/** What a Connection's certificates take in memory beside the TLS context itself. */
import { expect, onTestFinished, test } from "vitest";
import { createIamClient } from "../../src/console/client/console-client.ts";
import { tlsOptions } from "../../src/http/tls-settings.ts";
import { createSessions } from "../../src/kinds/connection/sessions.ts";
import { Redacted } from "../../src/util/redacted.ts";
import { systemClock } from "../../src/util/time.ts";
import { heldBy } from "../support/live-heap.ts";
import { opensslCertificate } from "../support/openssl-certificate.ts";

const certificate = opensslCertificate();
const CHARACTERS = 400_000;
const CONNECTIONS = 20;

/** Certificates whose text is long without making the TLS context larger. */
function settingsOf(n: number) {
  const { cert = "", key = "" } = certificate ?? {};
  const note = `# ${n}\n`.padEnd(CHARACTERS / 2, "x");
  return {
    baseURL: "https://console.test",
    domainId: "org-1",
    domainName: "acme",
    credentials: { kind: "token", token: new Redacted("t") } as const,
    limits: { requestsPerSecond: 1, burst: 1, concurrency: 1, timeoutMs: 1_000 },
    extraCalls: {},
    caBundle: `${note}\n${cert}`,
    clientCertificate: { chain: `${note}\n${cert}`, key: new Redacted(key) },
  };
}

test.skipIf(certificate === undefined)(
  "sessions of Connections hold no text of their certificates",
  async () => {
    const sessions = createSessions({
      createClient: (settings) =>
        createIamClient({
          ...settings,
          userAgent: "test",
          clock: systemClock,
          random: { fraction: () => 0, id: () => "id" },
        }),
      clock: systemClock,
      log: { info() {}, warn() {}, error() {}, debug() {} } as never,
    });
    onTestFinished(() => sessions.close());
    const identity = { uid: "u", spec: "s", inputs: "m" };
    const held = await heldBy(() => {
      for (let n = 0; n < CONNECTIONS; n += 1) {
        const key = `Connection/team-a/${n}`;
        const client = sessions.prepare(key, settingsOf(n));
        sessions.put(key, { client, identity, usable: true, reason: "" });
      }
      return sessions;
    });
    expect(held).toBeLessThan((CONNECTIONS * CHARACTERS) / 4);
  },
);

test.skipIf(certificate === undefined)("equal certificates share one TLS context", () => {
  const [one, same, other] = [settingsOf(1), settingsOf(1), settingsOf(2)].map(
    (settings) => tlsOptions(settings).secureContext,
  );
  expect(same).toBe(one);
  expect(other).not.toBe(one);
});
