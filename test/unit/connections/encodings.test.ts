/** Bytes of entries that are not UTF-8 text: refused by every reader of a connection's Secrets and ConfigMaps. */
import { describe, expect, test } from "vitest";
import type { ConnectionSpec } from "../../../src/api/connection.ts";
import { parseInputs, sourcesOf } from "../../../src/connections/inputs.ts";
import type { Source, SourceObject } from "../../../src/connections/source.ts";
import { decodeUtf8 } from "../../../src/util/utf8.ts";
import { opensslCertificate } from "../../support/openssl-certificate.ts";
import { connectionSpec, tokenCredentials } from "../kinds/connection/specs.ts";

const bytes = (...parts: readonly (string | readonly number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))),
  );
const utf16 = (text: string) => Buffer.from(text, "utf16le");

/** What Windows, old editors and languages with fixed fields write. */
const refused: readonly (readonly [string, Buffer, string])[] = [
  ["UTF-16LE with a mark", bytes([0xff, 0xfe], [...utf16("hush")]), "UTF-16LE"],
  ["UTF-16BE with a mark", bytes([0xfe, 0xff], [...utf16("hush").swap16()]), "UTF-16BE"],
  ["UTF-16LE without a mark", utf16("hush"), "UTF-16LE"],
  ["UTF-16BE without a mark", utf16("hush").swap16(), "UTF-16BE"],
  ["UTF-32LE", bytes([0xff, 0xfe, 0, 0, 0x77, 0, 0, 0]), "UTF-32LE"],
  ["UTF-32BE", bytes([0, 0, 0xfe, 0xff, 0, 0, 0, 0x77]), "UTF-32BE"],
  ["a NUL byte at the end", bytes("hush", [0]), "text with NUL bytes"],
  [
    "Latin-1",
    Buffer.from("p\u00e4ssw\u00f6rd", "latin1"),
    "another encoding, such as Latin-1, or binary data",
  ],
  ["half a character", bytes("hush", [0xc3]), "another encoding, such as Latin-1, or binary data"],
  [
    "an overlong form",
    bytes("hush", [0xc0, 0xaf]),
    "another encoding, such as Latin-1, or binary data",
  ],
];
const accepted: readonly (readonly [string, Buffer, string])[] = [
  ["a mark of UTF-8", bytes([0xef, 0xbb, 0xbf], "word"), "word"],
  ["a mark and line ends", bytes([0xef, 0xbb, 0xbf], "word\r\n"), "word\r\n"],
  ["letters beyond ASCII", bytes("pässwörd 🔑"), "pässwörd 🔑"],
  ["nothing", bytes(), ""],
];

test.each(refused)("%s is refused", (_, content, found) => {
  expect(decodeUtf8(content)).toEqual({ ok: false, found });
});

test.each(accepted)("%s is read", (_, content, text) => {
  expect(decodeUtf8(content)).toEqual({ ok: true, text });
});

const certificate = opensslCertificate();
const pem = certificate?.cert ?? "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";
const bundleIn = (kind: "configMapRef" | "secretRef") =>
  connectionSpec({ caBundleFrom: { [kind]: { name: "ca", key: "ca.crt" } } });
const ownCertificate = connectionSpec({ clientCertificate: { secretRef: { name: "own" } } });

/** Every entry that a connection can refer to. A new kind of reference belongs here. */
const entries: readonly (readonly [string, ConnectionSpec, string])[] = [
  ["username", connectionSpec(), "username"],
  ["password", connectionSpec(), "password"],
  ["domain", connectionSpec(), "domain"],
  ["token", connectionSpec(tokenCredentials), "token"],
  ["CA bundle of a Secret", bundleIn("secretRef"), "ca.crt"],
  ["CA bundle of a ConfigMap", bundleIn("configMapRef"), "ca.crt"],
  ["client certificate", ownCertificate, "tls.crt"],
  ["client key", ownCertificate, "tls.key"],
];

const good: Readonly<Record<string, string>> = {
  username: "operator",
  password: "word",
  domain: "acme",
  token: "token",
  "ca.crt": pem,
  "tls.crt": pem,
  "tls.key": certificate?.key ?? "",
};

/** The object with valid entries, except for `key`. */
function objectFor(source: Source, key: string, content: Buffer): SourceObject {
  const contents = source.keys.map((each) => [
    each,
    (each === key ? content : Buffer.from(good[each] ?? "")).toString("base64"),
  ]);
  const field = source.kind === "Secret" ? "data" : "binaryData";
  return { metadata: source.at, [field]: Object.fromEntries(contents) };
}

function read(spec: ConnectionSpec, key: string, content: Buffer) {
  const sources = sourcesOf(spec, "team-a");
  const objects = sources.map((source) => source && objectFor(source, key, content));
  return parseInputs(spec, sources, objects);
}

describe.each(entries)("the entry with the %s", (_, spec, key) => {
  test.each(refused)(
    "is refused with %s; the message names the key and the encoding",
    (__, content, found) => {
      const finding = read(spec, key, content);
      expect(finding).toMatchObject({ ok: false, reason: "InvalidEncoding" });
      const { message } = finding as { readonly message: string };
      expect(message).toMatch(
        new RegExp(`^The .+ team-a/.+ needs UTF-8 text in the key ${key}, not ${found}\\.$`),
      );
      expect(message).not.toContain("hush");
    },
  );

  test.runIf(certificate !== undefined)("is read without a mark of UTF-8 and line ends", () => {
    const plain = read(spec, key, Buffer.from(good[key] ?? ""));
    expect(plain).toMatchObject({ ok: true });
    const marked = bytes([0xef, 0xbb, 0xbf], `${good[key]?.trimEnd()}\r\n`);
    expect(JSON.stringify(read(spec, key, marked))).toBe(
      JSON.stringify(plain).replace('\\n"', '"'),
    );
    expect(reveal(read(spec, key, marked))).toEqual(reveal(plain));
  });
});

function reveal(finding: ReturnType<typeof read>): readonly (string | undefined)[] {
  if (!finding.ok) return [];
  const { credentials, caBundle, clientCertificate } = finding.value;
  const secrets =
    credentials.kind === "token"
      ? [credentials.token.reveal()]
      : [credentials.username, credentials.password.reveal(), credentials.domain];
  return [
    ...secrets,
    caBundle?.trim(),
    clientCertificate?.chain.trim(),
    clientCertificate?.key.reveal().trim(),
  ];
}

test("a ConfigMap's text counts before its bytes, and a NUL in it is refused", () => {
  const spec = bundleIn("configMapRef");
  const [login, bundle] = sourcesOf(spec, "team-a");
  const inLogin = objectFor(login, "", Buffer.alloc(0));
  const parse = (data: string) =>
    parseInputs(
      spec,
      [login, bundle, undefined],
      [inLogin, { metadata: bundle!.at, data: { "ca.crt": data } }],
    );
  expect(parse(`\u{feff}${pem}`)).toMatchObject({ ok: true });
  expect(parse(`${pem}\0`)).toMatchObject({ reason: "InvalidEncoding" });
});
