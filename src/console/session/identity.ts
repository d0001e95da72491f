import { Redacted } from "../../util/redacted.ts";
import type { KeyPair } from "../model.ts";

/** The identity of a request: its credential headers and the secrets in them. */
export interface Identity {
  readonly headers: Redacted<Readonly<Record<string, string>>>;
  readonly secrets: readonly Redacted[];
  /** Whether a call that has waited may still be sent with these headers; absent if it always may. */
  readonly isUsable?: () => boolean;
}

export const anonymous: Identity = { headers: new Redacted({}), secrets: [] };

/** Spec, "Authentication", credential 1. */
export function userWith(token: Redacted, isUsable = () => true): Identity {
  return {
    isUsable,
    headers: new Redacted({ authorization: `Bearer ${token.reveal()}` }),
    secrets: [token],
  };
}

/** Spec, "Authentication", credential 2. */
export function keyHolder({ keyId, secret }: KeyPair): Identity {
  return {
    headers: new Redacted({
      "svc-api-key": asHeader(keyId),
      "svc-api-secret": asHeader(secret.reveal()),
    }),
    secrets: [secret],
  };
}

/** Spec, "Organization and partition headers". */
export interface Organization {
  readonly domainId: string;
  readonly domainName: string;
  readonly partitionId?: string;
}

export function organizationHeaders(
  { domainId, domainName, partitionId }: Organization,
  withPartition: boolean,
): Readonly<Record<string, string>> {
  return {
    "x-domain-id": asHeader(domainId),
    "x-domain-name": asHeader(domainName),
    ...(withPartition && partitionId !== undefined
      ? { "x-partition-id": asHeader(partitionId) }
      : {}),
  };
}

/** Headers are bytes: non-ASCII text, for example an organization's name, is sent as UTF-8. */
function asHeader(text: string): string {
  return Buffer.from(text, "utf8").toString("latin1");
}
