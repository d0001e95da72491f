import { expect, test } from "vitest";
import {
  bundleSource,
  certificateSource,
  parseBundle,
  parseClientCertificate,
} from "../../../src/connections/certificates.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";
import { connectionSpec } from "../kinds/connection/specs.ts";

const NAMESPACE = "team-a";
const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
const KEY = "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----";
const metadata = { name: "console", namespace: NAMESPACE };

const encoded = (values: Readonly<Record<string, string>>) => ({
  metadata,
  data: Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  ),
});

const refs = {
  configMapRef: { name: "console" },
  secretRef: { name: "console", key: "root.pem" },
} as const;

test("a bundle of more than 262144 characters is refused", () => {
  const found = readBundle("configMapRef", { "ca.crt": PEM + "x".repeat(262_144) });
  expect(found).toMatchObject({ ok: false, reason: "CertificateInvalid" });
});

test.each([
  ["a chain of more than 32768", { "tls.crt": PEM + "x".repeat(32_768), "tls.key": KEY }],
  ["a key of more than 16384", { "tls.crt": PEM, "tls.key": KEY + "x".repeat(16_384) }],
])("%s characters is refused before it is parsed", (_, data) => {
  const spec = connectionSpec({ clientCertificate: { secretRef: { name: "console" } } });
  const source = certificateSource(spec, NAMESPACE);
  if (source === undefined) throw new Error("no source");
  const found = parseClientCertificate(source, encoded(data));
  expect(found).toMatchObject({ ok: false, reason: "CertificateInvalid" });
  expect(found.ok || found.message).toContain("at most 32768 characters");
});

function readBundle(
  ref: keyof typeof refs,
  data: Readonly<Record<string, string>> | undefined,
): object {
  const spec = connectionSpec({ caBundleFrom: { [ref]: refs[ref] } });
  const source = bundleSource(spec, NAMESPACE);
  if (source === undefined) throw new Error("no source");
  if (data === undefined) return parseBundle(source, undefined);
  return parseBundle(source, ref === "secretRef" ? encoded(data) : { metadata, data });
}

const isRead = { ok: true, caBundle: PEM };
const refused = (reason: string, message: string) => ({ ok: false, reason, message });
const ofBundle = (kind: string, words: string) => `The CA bundle's ${kind} team-a/console ${words}`;
const NO_CONFIG_MAP = "does not exist; create it with the key ca.crt.";
const NO_SECRET = "does not exist; create it with the key root.pem.";
const NO_ENTRY = "needs the key ca.crt; missing or empty: ca.crt.";
const EMPTY = "needs the key root.pem; missing or empty: root.pem.";
const NO_PEM =
  "needs PEM in the key ca.crt: one or more blocks that begin with -----BEGIN CERTIFICATE-----, not base64 of them.";

test.each<[string, Readonly<Record<string, string>> | undefined, string?, string?]>([
  ["ConfigMap", { "ca.crt": `${PEM}\n`, "other.crt": "x" }],
  ["Secret", { "root.pem": PEM }],
  ["ConfigMap", undefined, "ConfigMapNotFound", NO_CONFIG_MAP],
  ["Secret", undefined, "SecretNotFound", NO_SECRET],
  ["ConfigMap", { "bundle.pem": PEM }, "ConfigMapIncomplete", NO_ENTRY],
  ["Secret", { "root.pem": "\n" }, "SecretIncomplete", EMPTY],
  ["ConfigMap", { "ca.crt": KEY }, "CertificateInvalid", NO_PEM],
])("authorities from the %s %j: %s", (kind, data, reason, message = "") => {
  const found = readBundle(kind === "Secret" ? "secretRef" : "configMapRef", data);
  expect(found).toEqual(reason === undefined ? isRead : refused(reason, ofBundle(kind, message)));
});

const [own, other] = [opensslCertificate(), opensslCertificate()];

const ofCertificate = (words: string) => `The client certificate's Secret team-a/console ${words}`;
const isIncomplete = refused(
  "SecretIncomplete",
  ofCertificate("needs the keys tls.crt, tls.key; missing or empty: tls.key."),
);
const isInvalid = refused(
  "CertificateInvalid",
  ofCertificate(
    "needs a certificate in PEM in the key tls.crt, and in tls.key the private key that belongs to it, without a passphrase.",
  ),
);

test
  .runIf(own !== undefined && other !== undefined)
  .each<[string, string | undefined, string | undefined, object]>([
    ["with its key is read", own?.cert, own?.key, { ok: true }],
    ["without its key is incomplete", own?.cert, undefined, isIncomplete],
    ["with the key of another one is invalid", own?.cert, other?.key, isInvalid],
    ["with a key that cannot be read is invalid", own?.cert, KEY, isInvalid],
    ["that cannot be read is invalid", PEM, own?.key, isInvalid],
  ])("a certificate %s", (_, cert, key, found) => {
  const data = {
    "tls.crt": cert,
    ...(key === undefined ? {} : { "tls.key": key }),
    "ca.crt": other?.cert,
  };
  const source = certificateSource(
    connectionSpec({ clientCertificate: { secretRef: { name: "console" } } }),
    NAMESPACE,
  );
  if (source === undefined) throw new Error("no source");
  const read = parseClientCertificate(source, encoded(data as Record<string, string>));
  expect(read).toMatchObject(found);
  expect(JSON.stringify(read)).not.toContain("PRIVATE KEY");
});
