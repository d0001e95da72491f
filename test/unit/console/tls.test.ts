/** A console with a certificate of a private authority that asks its clients for a certificate. */
import { describe, expect, onTestFinished, test } from "vitest";
import type { TlsSettings } from "../../../src/http/tls-settings.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { opensslPki, type Pki } from "../../support/openssl-certificate.ts";
import { startTlsFront } from "../../support/tls-front.ts";
import { ACCOUNT, clientOf, failureOf, startConsole } from "./clients.ts";

const [first, second] = [opensslPki("first"), opensslPki("second")];

async function consoleBehind(pki: Pki) {
  const console = await startConsole();
  const front = await startTlsFront(console, pki);
  onTestFinished(() => front[Symbol.asyncDispose]());
  return { console, front };
}

/** What a connection says of these certificates. */
function settingsOf({ authority, client }: Pick<Pki, "authority" | "client">): TlsSettings {
  const clientCertificate = { chain: client.cert, key: new Redacted(client.key) };
  return { caBundle: authority.cert, trustOnlyCABundle: true, clientCertificate };
}

describe.runIf(first !== undefined && second !== undefined)("a console with mutual TLS", () => {
  const [old, renewed] = [first, second] as [Pki, Pki];

  test("is called with the certificate of the connection", async () => {
    const { front } = await consoleBehind(old);
    await clientOf(front, settingsOf(old)).createServiceAccount(ACCOUNT);
    expect(new Set(front.presented)).toEqual(new Set(["first"]));
  });

  test("refuses a client without a certificate", async () => {
    const { console, front } = await consoleBehind(old);
    const client = clientOf(front, { ...settingsOf(old), clientCertificate: undefined });
    expect((await failureOf(client.createServiceAccount(ACCOUNT))).code).toBe("Unavailable");
    expect(console.requests.all).toEqual([]);
  });

  test("is not trusted by the bundle of another authority", async () => {
    const { console, front } = await consoleBehind(old);
    const { authority } = renewed;
    const client = clientOf(front, settingsOf({ ...old, authority }));
    expect((await failureOf(client.createServiceAccount(ACCOUNT))).code).toBe("Unavailable");
    expect(console.requests.all).toEqual([]);
  });

  test("is followed by another client through a renewal of all certificates", async () => {
    const { front } = await consoleBehind(old);
    const client = clientOf(front, settingsOf(old));
    await client.createServiceAccount(ACCOUNT);
    front.renew(renewed);
    const another = { ...ACCOUNT, name: "another" };
    expect((await failureOf(client.createServiceAccount(another))).code).toBe("Unavailable");
    await clientOf(front, settingsOf(renewed)).createServiceAccount(another);
    expect(front.presented.at(-1)).toBe("second");
  });
});
