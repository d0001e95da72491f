/** Which console, seen from which organization, as whom. */
import type { ConnectionSpec } from "../../api/connection.ts";
import { proxyFor, readProxyEnvironment } from "../../http/proxy.ts";
import type { TlsSettings } from "../../http/tls-settings.ts";
import type { Limits } from "../../iam/exchange/exchange.ts";
import type { IamCredentials, KeyPair } from "../../iam/model.ts";
import { parseDuration, SECOND } from "../../util/time.ts";
import type { Io } from "../cli/io.ts";

/** Everything about a console but the credentials. */
export interface ConsoleTarget extends TlsSettings {
  readonly baseURL: string;
  readonly orgId: string;
  readonly projectId: string | undefined;
  readonly domainId: string;
  readonly domainName: string;
  readonly partitionId: string | undefined;
  readonly proxyURL: string | undefined;
  readonly limits: Limits;
}

/** As whom calls are made. */
export interface Caller {
  readonly user: IamCredentials | undefined;
  readonly key: KeyPair | undefined;
}

export const defaultLimits: Limits = {
  requestsPerSecond: 20,
  burst: 40,
  concurrency: 4,
  timeoutMs: 30 * SECOND,
};

/** The proxy that leads to the console from here: the connection's, or that of the environment. */
export function proxyOf(
  { baseURL, proxyURL }: Pick<ConsoleTarget, "baseURL" | "proxyURL">,
  environment: Io["environment"],
): string | undefined {
  return proxyURL ?? proxyFor(baseURL, readProxyEnvironment(environment));
}

export function targetOf(
  spec: ConnectionSpec,
  certificates: Pick<TlsSettings, "caBundle" | "clientCertificate">,
): ConsoleTarget {
  const { timeout, ...limits } = spec.limits;
  return {
    baseURL: spec.baseURL,
    orgId: spec.orgId,
    projectId: spec.projectId,
    domainId: spec.domainId ?? spec.orgId,
    domainName: spec.domainName,
    partitionId: spec.partitionId,
    ...certificates,
    trustOnlyCABundle: spec.trustOnlyCABundle,
    proxyURL: spec.proxyURL,
    limits: { ...limits, timeoutMs: parseDuration(timeout) ?? defaultLimits.timeoutMs },
  };
}
