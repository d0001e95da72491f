import { createHash } from "node:crypto";
import type { ConnectionSpec } from "../api/connection.ts";
import type { Limits } from "../console/exchange/exchange.ts";
import type { IamCredentials } from "../console/model.ts";
import type { TlsSettings } from "../http/tls-settings.ts";
import { parseDuration, SECOND } from "../util/time.ts";
import type { ConnectionInputs } from "./inputs.ts";

/** The console of a connection, and how to reach it. */
export interface ConsoleSettings extends TlsSettings {
  readonly baseURL: string;
  readonly domainId: string;
  readonly domainName: string;
  readonly partitionId?: string;
  readonly proxyURL?: string;
  readonly limits: Limits;
  readonly accountListPages?: ConnectionSpec["accountListPages"];
}

/** The settings of a console client that depend on its connection; all other settings are the same for all clients. */
export interface ClientSettings extends ConsoleSettings {
  readonly credentials: IamCredentials;
  readonly extraCalls: NonNullable<ConnectionSpec["extraCalls"]>;
}

export function clientSettings(spec: ConnectionSpec, inputs: ConnectionInputs): ClientSettings {
  return {
    ...consoleSettings(spec, inputs),
    credentials: inputs.credentials,
    extraCalls: spec.extraCalls ?? {},
  };
}

export function consoleSettings(
  spec: ConnectionSpec,
  { caBundle = spec.caBundle, clientCertificate }: Omit<ConnectionInputs, "credentials">,
): ConsoleSettings {
  const { timeout, ...limits } = spec.limits;
  return {
    baseURL: spec.baseURL,
    domainId: spec.domainId ?? spec.orgId,
    domainName: spec.domainName,
    ...(spec.partitionId === undefined ? {} : { partitionId: spec.partitionId }),
    caBundle,
    trustOnlyCABundle: spec.trustOnlyCABundle,
    clientCertificate,
    ...(spec.proxyURL === undefined ? {} : { proxyURL: spec.proxyURL }),
    ...(spec.accountListPages && { accountListPages: spec.accountListPages }),
    limits: { ...limits, timeoutMs: Math.max(SECOND, parseDuration(timeout) ?? 0) },
  };
}

/**
 * Specs with different identities need different clients. Grants, suspension and the poll interval are not part of the
 * identity, because they do not affect the console.
 */
export function clientIdentity(
  spec: ConnectionSpec & { readonly grants?: unknown; readonly withdrawalGracePeriod?: unknown },
): string {
  const {
    grants: _,
    withdrawalGracePeriod: __,
    suspend: ___,
    accountPollInterval: ____,
    accountNamePrefix: _____,
    caBundle,
    ...rest
  } = spec;
  return JSON.stringify({ ...rest, caBundle: caBundle && bundleId(caBundle) });
}

/**
 * A short ID that looks like PEM; the ID of an ID is the ID itself. Bundles of up to 1024 characters stay as they are.
 */
export function bundleId(caBundle: string): string {
  if (caBundle.length <= 1_024) return caBundle;
  return `-----BEGIN CERTIFICATE-----\nsha256 ${createHash("sha256").update(caBundle).digest("hex")}`;
}
