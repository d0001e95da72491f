/** The keys and certificates of a control plane, without a certificate tool. */
import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Makes the key pair that signs service account tokens: `sa.key` and `sa.pub`. */
export function writeServiceAccountKeys(directory: string): void {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  writeFileSync(join(directory, "sa.key"), privateKey.export({ type: "sec1", format: "pem" }), {
    mode: 0o600,
  });
  writeFileSync(join(directory, "sa.pub"), publicKey.export({ type: "spki", format: "pem" }));
}

/**
 * The authority that signed the API server's certificate, or undefined while there is none yet.
 *
 * An API server without certificates makes an authority, signs a certificate with it and keeps
 * both, leaf first, in `apiserver.crt`; the key file follows, so its presence means completeness.
 */
export function readAuthority(certificateDirectory: string): string | undefined {
  if (!existsSync(join(certificateDirectory, "apiserver.key"))) return undefined;
  const chain = readFileSync(join(certificateDirectory, "apiserver.crt"), "utf8");
  return chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g)?.at(1);
}
