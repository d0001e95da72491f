import { hash as digest } from "node:crypto";
import type { KeyPair } from "../../../iam/model.ts";
import type { Instant } from "../../../util/time.ts";

/** A key pair with everything that is known about it from its issue on. */
export interface IssuedPair extends KeyPair {
  /** Just before the issuing call was sent. */
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
  readonly revision: number;
}

/**
 * A short hash that tells whether keyId and secret belong together. The secret has about 256 random bits, so
 * 64 bits of a hash give nothing away.
 */
export function pairHash({ keyId, secret }: KeyPair): string {
  return digest("sha256", `${keyId}\n${secret.reveal()}`).slice(0, 16);
}
