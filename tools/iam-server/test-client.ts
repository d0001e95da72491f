/** A thin caller for tests of this server: no retries, no judgement, everything in the answer. */
import { request as httpRequest } from "node:http";
import { DEFAULT_CREDENTIALS, SEEDED } from "./seed.ts";
import type { IamServer } from "./server.ts";

export interface Received {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever arrived
  readonly json: any;
}

export type HeaderMap = Readonly<Record<string, string>>;

export const DOMAIN: HeaderMap = { "x-domain-id": SEEDED.orgId, "x-domain-name": SEEDED.orgName };
export const ACCOUNTS = "/api/v1/iam/authn/service-accounts";
export const LOGIN = "/api/v1/iam/authn/public/login";
export const VALIDATE = "/api/v1/iam/authn/public/api-keys/validate";
export const POLICIES = "/api/v1/iam/authz/policies";
export const SYNC = "/api/v1/iam/authz/bindings/sync";
export const BY_TARGET = "/api/v1/iam/authz/bindings/by-target";
export const EVALUATE = "/api/v1/iam/authz/policies/evaluate";
export const INSTANCES = "/api/v1/compute/instances";
export const QUOTAS = "/api/v1/container/policy/resource-quota";
export const SEARCH = "/api/v1/iam/authz/action-catalog/actions/search";

export class TestClient {
  readonly server: IamServer;

  constructor(server: IamServer) {
    this.server = server;
  }

  async send(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: HeaderMap; body?: unknown } = {},
  ): Promise<Received> {
    const response = await fetch(`${this.server.url}${path}`, {
      method,
      redirect: "manual",
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: parse(text) };
  }

  /** A Bearer header of a user of the seeded world. */
  async user(username: string = DEFAULT_CREDENTIALS.username): Promise<HeaderMap> {
    const { json } = await this.send("POST", LOGIN, {
      body: { ...DEFAULT_CREDENTIALS, username },
    });
    return { authorization: `Bearer ${json.result.accessToken}` };
  }

  /** A service account with a key and the given policies, made inside the world. */
  account(policyIds: readonly string[] = [], name = "ci-bot") {
    const { world } = this.server;
    const { orgId, projectId } = SEEDED;
    const account = world.createAccount({ orgId, projectId, name, description: "" });
    const { key, secret } = world.issueKey(account.saId, { description: "", expiresInDays: 90 });
    if (policyIds.length > 0) world.replaceBindings(account.tpn, policyIds);
    return { account, key, secret, headers: keyHeaders(key.keyId, secret) };
  }

  /** A request whose path is sent as it is. */
  raw(method: string, path: string): Promise<number> {
    const { hostname, port } = new URL(this.server.url);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    httpRequest({ method, path, hostname, port }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    })
      .on("error", reject)
      .end();
    return promise;
  }
}

export function keyHeaders(keyId: string, secret: string): HeaderMap {
  return { "svc-api-key": keyId, "svc-api-secret": secret };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
