import { onTestFinished } from "vitest";
import type { IamClient } from "../../../src/console/client/client.ts";
import {
  createIamClient,
  type IamClientOptions,
} from "../../../src/console/client/console-client.ts";
import type { IamError } from "../../../src/console/errors.ts";
import { isIamError } from "../../../src/console/errors.ts";
import type { IamCredentials } from "../../../src/console/model.ts";
import { Redacted } from "../../../src/util/redacted.ts";
import { systemClock } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../../../tools/iam-server/seed.ts";
import {
  type IamServer,
  type IamServerOptions,
  startIamServer,
} from "../../../tools/iam-server/server.ts";

export const LOGIN: IamCredentials = {
  kind: "login",
  username: DEFAULT_CREDENTIALS.username,
  password: new Redacted(DEFAULT_CREDENTIALS.password),
  domain: DEFAULT_CREDENTIALS.domain,
};

export const ACCOUNT = {
  orgId: SEEDED.orgId,
  projectId: SEEDED.projectId,
  name: "ci-bot",
  description: "for tests",
};

/** A console that ends with the test. */
export async function startConsole(options: IamServerOptions = {}): Promise<IamServer> {
  const server = await startIamServer(options);
  onTestFinished(() => server.close());
  return server;
}

/** A client that ends with the test. */
export function clientOf(
  server: { readonly url: string },
  options: Partial<IamClientOptions> = {},
): IamClient {
  const client = createIamClient({
    baseURL: server.url,
    domainId: SEEDED.orgId,
    domainName: SEEDED.orgName,
    partitionId: SEEDED.partitionId,
    credentials: LOGIN,
    limits: { requestsPerSecond: 10_000, burst: 10_000, concurrency: 8, timeoutMs: 5_000 },
    userAgent: "iam-operator/test",
    clock: systemClock,
    random: { fraction: () => 0.5, id: () => "id" },
    ...options,
  });
  onTestFinished(() => client.close());
  return client;
}

/** What a call failed with. */
export async function failureOf(call: Promise<unknown>): Promise<IamError> {
  const outcome = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("error" in outcome && isIamError(outcome.error)) return outcome.error;
  throw new Error("expected an IamError", { cause: outcome });
}
