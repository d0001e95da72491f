/** A certificate that clients cannot verify, for encryption only. */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { HOUR, type Instant, toIso8601 } from "../util/time.ts";
import type { Certificate } from "./http-server.ts";

const NAME = "iam-operator";
const LIFETIME_MS = 10 * 365 * 24 * HOUR;

/**
 * X.509 version 3, with a new P-256 key that exists only in memory. Node can read certificates but cannot create them.
 */
export function selfSigned(now: Instant): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(commonName, utf8(NAME))));
  const contents = sequence(
    tagged(0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(15)])),
    ecdsaWithSha256,
    name,
    sequence(time(now - HOUR), time(now + LIFETIME_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(
      3,
      sequence(
        sequence(subjectAltName, octets(sequence(dnsName(NAME)))),
        sequence(extendedKeyUsage, octets(sequence(serverAuth))),
      ),
    ),
  );
  const signature = sign("sha256", contents, privateKey);
  const bits = der(0x03, Buffer.of(0), signature);
  return {
    cert: pem(sequence(contents, ecdsaWithSha256, bits)),
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** One DER value: tag, length, content. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const long = length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : long)), content]);
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return der(0x30, ...parts);
}
function set(part: Uint8Array): Buffer {
  return der(0x31, part);
}
function integer(bytes: Uint8Array): Buffer {
  return der(0x02, bytes);
}
function octets(part: Uint8Array): Buffer {
  return der(0x04, part);
}
function utf8(text: string): Buffer {
  return der(0x0c, Buffer.from(text));
}
function dnsName(name: string): Buffer {
  return der(0x82, Buffer.from(name));
}
function tagged(number: number, part: Uint8Array): Buffer {
  return der(0xa0 + number, part);
}
function oid(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, "hex"));
}
/** UTCTime, which is valid until 2049. */
function time(instant: Instant): Buffer {
  const digits = toIso8601(instant).replace(/[-:T]/g, "");
  return der(0x17, Buffer.from(digits.slice(2)));
}

const commonName = oid("550403");
const subjectAltName = oid("551d11");
const extendedKeyUsage = oid("551d25");
const serverAuth = oid("2b06010505070301");
const ecdsaWithSha256 = sequence(oid("2a8648ce3d040302"));

function pem(content: Buffer): string {
  const lines = content.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}
