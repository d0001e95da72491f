/** Which console, seen from which organization, as whom. */
import type { ConnectionSpec } from "../../api/connection.ts";
import type { Limits } from "../../iam/exchange/exchange.ts";
import type { IamCredentials, KeyPair } from "../../iam/model.ts";
import { parseDuration, SECOND } from "../../util/time.ts";

/** Everything about a console but the credentials. */
export interface ConsoleTarget {
  readonly baseURL: string;
  readonly orgId: string;
  readonly projectId: string | undefined;
  readonly domainId: string;
  readonly domainName: string;
  readonly partitionId: string | undefined;
  readonly caBundle: string | undefined;
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

export function targetOf(spec: ConnectionSpec): ConsoleTarget {
  const { timeout, ...limits } = spec.limits;
  return {
    baseURL: spec.baseURL,
    orgId: spec.orgId,
    projectId: spec.projectId,
    domainId: spec.domainId ?? spec.orgId,
    domainName: spec.domainName,
    partitionId: spec.partitionId,
    caBundle: spec.caBundle,
    limits: { ...limits, timeoutMs: parseDuration(timeout) ?? defaultLimits.timeoutMs },
  };
}
