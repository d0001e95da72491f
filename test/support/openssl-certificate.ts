import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const OPTIONS =
  "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -addext subjectAltName=IP:127.0.0.1";

/** A certificate for 127.0.0.1, self-signed unless an authority signs it; `undefined` where there is no openssl to make one. */
export function opensslCertificate(
  commonName = "localhost",
  authority?: Certificate,
): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), "iam-operator-certificate-"));
  const file = (name: string) => join(folder, name);
  try {
    const signed = [];
    if (authority !== undefined) {
      writeFileSync(file("ca-key.pem"), authority.key);
      writeFileSync(file("ca.pem"), authority.cert);
      signed.push("-CA", file("ca.pem"), "-CAkey", file("ca-key.pem"));
    }
    const [key, cert] = [file("key.pem"), file("cert.pem")];
    const made = ["-subj", `/CN=${commonName}`, "-keyout", key, "-out", cert, ...signed];
    execFileSync("openssl", [...OPTIONS.split(" "), ...made], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A private authority, a server's certificate by it, and a client's. */
export interface Pki {
  readonly authority: Certificate;
  readonly server: Certificate;
  readonly client: Certificate;
}

export function opensslPki(clientName: string): Pki | undefined {
  const authority = opensslCertificate(`authority of ${clientName}`);
  const server = opensslCertificate("localhost", authority);
  const client = opensslCertificate(clientName, authority);
  return authority && server && client && { authority, server, client };
}
