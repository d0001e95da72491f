/** Consoles behind a proxy: a real one, which the test starts. */
import { expect, test } from "vitest";
import { createAddressPolicy } from "../../../src/http/address-policy.ts";
import { readClientCertificate } from "../../../src/http/tls-settings.ts";
import { startConnectProxy } from "../../support/connect-proxy.ts";
import { trustByDefault } from "../../support/default-authorities.ts";
import { opensslPki, type Pki } from "../../support/openssl-certificate.ts";
import { startTlsFront } from "../../support/tls-front.ts";
import { ACCOUNT, clientOf, startConsole } from "./clients.ts";

test("every call uses the tunnel, even to a console without TLS", async () => {
  await using proxy = await startConnectProxy();
  const console = await startConsole();
  const client = clientOf(console, { proxy: proxy.url });
  const { saId } = await client.createServiceAccount(ACCOUNT);
  expect(await client.getServiceAccount(saId)).toMatchObject({ saId });
  expect(new Set(proxy.asked)).toEqual(new Set([new URL(console.url).host]));
  // Each POST has a connection of its own, and so a tunnel of its own.
  expect(proxy.asked).toHaveLength(3);
});

const [pki, ofProxy] = [opensslPki("operator"), opensslPki("unknown")];

test.runIf(pki !== undefined && ofProxy !== undefined)(
  "a client certificate is for the console, and not for a proxy that asks for one as well",
  async () => {
    const { authority, client } = pki as Pki;
    const console = await startConsole();
    await using front = await startTlsFront(console, pki as Pki);
    await using tunnel = await startConnectProxy();
    await using proxy = await startTlsFront(tunnel, ofProxy as Pki, { demanding: false });
    using _ = trustByDefault((ofProxy as Pki).authority.cert);
    await clientOf(front, {
      proxy: proxy.url,
      caBundle: authority.cert,
      clientCertificate: readClientCertificate(client.cert, client.key),
    }).authenticate();
    expect(tunnel.asked).toEqual([new URL(front.url).host]);
    expect([proxy.presented, front.presented]).toEqual([["none"], ["operator"]]);
  },
);

test("the console's name is left to the proxy to resolve, and gets the proxy's credentials not", async () => {
  const console = await startConsole();
  const { hostname: host, port } = new URL(console.url);
  await using proxy = await startConnectProxy({ target: { host, port: Number(port) } });
  const url = "http://console.invalid";
  const withUser = proxy.url.replace("//", "//user:word@");
  await clientOf({ url }, { proxy: withUser }).authenticate();
  expect(proxy.asked).toEqual(["console.invalid:80"]);
  expect(proxy.credentials).toEqual([`Basic ${Buffer.from("user:word").toString("base64")}`]);
  expect(JSON.stringify(console.requests.all)).not.toContain("word@");
});

test("if addresses are checked, the address of the proxy is checked", async () => {
  await using proxy = await startConnectProxy();
  const console = await startConsole();
  const refused = clientOf(console, {
    proxy: proxy.url,
    addresses: createAddressPolicy({ advice: " (see X)" }),
  });
  await expect(refused.authenticate()).rejects.toMatchObject({
    message: "login was not sent: connections must not use this address (see X)",
    isAddressRefused: true,
  });
  expect(proxy.asked).toEqual([]);
  const addresses = createAddressPolicy({ allowed: ["127.0.0.1/32"] });
  await clientOf(console, { proxy: proxy.url, addresses }).authenticate();
  expect(proxy.asked).toHaveLength(1);
});
