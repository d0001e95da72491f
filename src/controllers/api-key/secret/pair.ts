import { hash as digest } from "node:crypto";
import type { KeyPair } from "../../../iam/model.ts";
import type { Instant } from "../../../util/time.ts";

/** A key pair with all facts known since its issue. */
export interface IssuedPair extends KeyPair {
  /** Just before the issuing call was sent. */
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
  readonly revision: number;
}

/**
 * A short hash that shows whether keyId and secret belong together. The secret has about 256 random bits, so a 64-bit
 * hash reveals nothing.
 */
export function pairHash({ keyId, secret }: KeyPair): string {
  return digest("sha256", `${keyId}\n${secret.reveal()}`).slice(0, 16);
}

/** The ID alone does not identify a pair: a console may issue a key with the ID of an earlier key. */
export function isSamePair(a: KeyPair | undefined, b: KeyPair | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.keyId === b.keyId && a.secret.reveal() === b.secret.reveal();
}
