import { hash as digest } from "node:crypto";
import type { KeyPair } from "../../../console/model.ts";
import type { Instant } from "../../../util/time.ts";

/** The account of a key. Absent only if the pair was not written by the operator. */
export interface KeyAccount {
  /** Name of the ServiceAccount. */
  readonly serviceAccount?: string | undefined;
  readonly saId?: string | undefined;
}

/** A key pair with all facts known since its issue. */
export interface IssuedPair extends KeyPair, KeyAccount {
  /** Just before the issuing call was sent. */
  readonly issueTime: Instant;
  readonly expirationTime: Instant;
  readonly revision: number;
}

/**
 * A short hash that shows whether keyId, secret and account belong together. The secret has about 256 random bits, so a
 * 64-bit hash reveals nothing.
 */
export function pairHash({ keyId, secret }: KeyPair, account?: string): string {
  const text = [keyId, secret.reveal(), ...(account === undefined ? [] : [account])].join("\n");
  return digest("sha256", text).slice(0, 16);
}

/** The account as NAME/SA-ID; `undefined` if it is unknown. */
export function accountText({ serviceAccount, saId }: KeyAccount): string | undefined {
  return serviceAccount === undefined || saId === undefined
    ? undefined
    : `${serviceAccount}/${saId}`;
}

/** The account from the text of {@link accountText}. */
export function parseAccount(text = ""): KeyAccount {
  const end = text.indexOf("/");
  return end < 0 ? {} : { serviceAccount: text.slice(0, end), saId: text.slice(end + 1) };
}

/** The ID alone does not identify a pair: a console may issue a key with the ID of an earlier key. */
export function isSamePair(a: KeyPair | undefined, b: KeyPair | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  return a.keyId === b.keyId && a.secret.reveal() === b.secret.reveal();
}
