/** The console, the organization and the credentials of a call. */
import type { ConsoleSettings } from "../../connections/client-settings.ts";
import type { Limits } from "../../console/exchange/exchange.ts";
import type { IamCredentials, KeyPair } from "../../console/model.ts";
import { proxyFor, readProxyEnvironment } from "../../http/proxy.ts";
import { SECOND } from "../../util/time.ts";
import type { Io } from "../cli/io.ts";

/** Everything about a console except the credentials. */
export interface ConsoleTarget extends ConsoleSettings {
  readonly orgId: string;
  readonly projectId: string | undefined;
}

/** The credentials of calls. */
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

/** The proxy to the console: the connection's, otherwise that of the environment. */
export function proxyOf(
  { baseURL, proxyURL }: { readonly baseURL: string; readonly proxyURL?: string | undefined },
  environment: Io["environment"],
): string | undefined {
  return proxyURL ?? proxyFor(baseURL, readProxyEnvironment(environment));
}
