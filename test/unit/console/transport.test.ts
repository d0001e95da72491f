import { createServer as createTcpServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { createTransport, type Transport } from "../../../src/console/exchange/transport.ts";
import { systemClock } from "../../../src/util/time.ts";
import { trustByDefault } from "../../support/default-authorities.ts";
import { get, outcomeOf } from "../../support/http-call.ts";
import { listen, startWeb } from "../../support/local-server.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";
import { clientOf, startConsole } from "./clients.ts";

function transportTo(origin: string): Transport {
  const transport = createTransport({ origin, connections: 4, clock: systemClock });
  onTestFinished(() => transport.close());
  return transport;
}

test("a POST never uses a connection that was idle for a second, since its outcome would be open if the server closed it", async () => {
  const ports: (number | undefined)[] = [];
  const { url } = await startWeb((request, response) => {
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

test("a call to another origin is refused", async () => {
  const { send } = transportTo("http://127.0.0.1:1");
  const { url, requests } = await startWeb((_, response) => response.end());
  expect(await outcomeOf(send(get(url)))).toBe("refused: the URL is of another origin");
  expect(requests).toEqual([]);
});

test("an endless handshake counts as refused: nothing was sent", async () => {
  const { port } = await listen(createTcpServer(() => undefined));
  const url = `https://127.0.0.1:${port}`;
  expect(await outcomeOf(transportTo(url).send(get(url, { timeoutMs: 200 })))).toBe(
    "refused: no answer within 200 ms",
  );
});

test("closing ends running requests", async () => {
  const arrived = Promise.withResolvers<void>();
  const { url } = await startWeb(() => arrived.resolve());
  const transport = transportTo(url);
  const sent = outcomeOf(transport.send(get(url)));
  await arrived.promise;
  await transport.close();
  expect(await sent).toBe("network: the connection failed (UND_ERR_DESTROYED)");
  expect(await outcomeOf(transport.send(get(url)))).toMatch(/^refused: /);
});

const [tls, other] = [opensslCertificate(), opensslCertificate()];

test.skipIf(tls === undefined || other === undefined)(
  "authorities of the system are trusted unless the connection trusts its own alone",
  async () => {
    if (tls === undefined || other === undefined) return;
    const server = await startConsole({ tls });
    using _ = trustByDefault(tls.cert);
    await clientOf(server, { caBundle: other.cert }).authenticate();
    const distrusting = clientOf(server, { caBundle: other.cert, trustOnlyCABundle: true });
    await expect(distrusting.authenticate()).rejects.toMatchObject({
      sent: false,
      message: expect.stringContaining("DEPTH_ZERO_SELF_SIGNED_CERT"),
    });
    await clientOf(server, { caBundle: tls.cert, trustOnlyCABundle: true }).authenticate();
  },
);
