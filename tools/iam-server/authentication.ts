import type { IncomingHttpHeaders } from "node:http";
import { unauthenticated } from "./api-error.ts";
import type { AuthKind } from "./operations.ts";
import type { AccountRecord, KeyRecord, User, World } from "./world.ts";

/** Who makes a call. */
export type Principal =
  | { readonly kind: "anonymous" }
  | { readonly kind: "user"; readonly user: User }
  | { readonly kind: "account"; readonly account: AccountRecord; readonly key: KeyRecord };

export const ANONYMOUS: Principal = { kind: "anonymous" };

/** Credentials found on a request, whether or not they are any good. */
export type OfferedAuth = "none" | "bearer" | "key" | "both";

export function offeredAuth(headers: IncomingHttpHeaders): OfferedAuth {
  const bearer = bearerToken(headers) !== undefined;
  const key = hasKeyHeader(headers);
  if (bearer && key) return "both";
  return bearer ? "bearer" : key ? "key" : "none";
}

/** Key headers go first where a call takes either credential. */
export function authenticate(
  world: World,
  kind: AuthKind,
  headers: IncomingHttpHeaders,
): Principal {
  switch (kind) {
    case "none":
      return ANONYMOUS;
    case "bearer":
      return authenticateUser(world, headers);
    case "key":
      return authenticateAccount(world, headers);
    case "either":
      return hasKeyHeader(headers)
        ? authenticateAccount(world, headers)
        : authenticateUser(world, headers);
  }
}

function authenticateUser(world: World, headers: IncomingHttpHeaders): Principal {
  const token = bearerToken(headers);
  if (token === undefined) throw unauthenticated("authentication required");
  const user = world.userOfToken(token);
  if (user === undefined) throw unauthenticated("token is unknown or expired");
  return { kind: "user", user };
}

function authenticateAccount(world: World, headers: IncomingHttpHeaders): Principal {
  const keyId = headers["svc-api-key"];
  const secret = headers["svc-api-secret"];
  if (typeof keyId !== "string" || typeof secret !== "string") {
    throw unauthenticated("API key required");
  }
  const key = world.keys.get(keyId);
  const account = key && world.accounts.get(key.saId);
  const refusal = world.whyKeyIsRefused(keyId);
  if (refusal !== undefined) throw unauthenticated(refusal);
  if (!key || !account || !world.isPair(keyId, secret)) throw unauthenticated("secret mismatch");
  return { kind: "account", account, key };
}

function bearerToken(headers: IncomingHttpHeaders): string | undefined {
  return /^Bearer +(\S+)$/i.exec(headers.authorization ?? "")?.[1];
}

function hasKeyHeader(headers: IncomingHttpHeaders): boolean {
  return headers["svc-api-key"] !== undefined || headers["svc-api-secret"] !== undefined;
}
