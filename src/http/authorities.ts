/** Whose certificates a TLS connection accepts. */
import { getCACertificates } from "node:tls";

export interface Trust {
  /** PEM certificates of authorities. */
  readonly caBundle?: string | undefined;
  /** Whether only they are trusted, and not those of the system as well. */
  readonly trustOnlyCABundle?: boolean | undefined;
}

/** The option `ca` of a TLS connection, which replaces the system's authorities. */
export function tlsAuthorities({ caBundle, trustOnlyCABundle }: Trust): {
  readonly ca?: string[];
} {
  if (caBundle === undefined) return {};
  return {
    ca: trustOnlyCABundle === true ? [caBundle] : [...getCACertificates("default"), caBundle],
  };
}
