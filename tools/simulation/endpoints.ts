/** The two models as ends of the network. */

import type { HttpRequest } from "../../src/http/http.ts";
import { keyText } from "../../src/kube/resource.ts";
import { publishedSchemas } from "../api-server/kinds.ts";
import type { ApiRequest } from "../api-server/request.ts";
import type { ApiServer } from "../api-server/server.ts";
import type { Console } from "./console.ts";
import type { Endpoint } from "./network.ts";

const MUTATING_IAM = new Set(["createServiceAccount", "issueKey", "syncBindings"]);

export function kubeEndpoint(server: ApiServer): Endpoint {
  // A request is described when it is sent, and handled when it arrives.
  const parsed = new WeakMap<HttpRequest, ApiRequest>();
  const handle = (request: HttpRequest) => {
    if (isAccessReview(request)) return ALLOWED;
    if (isSchemaRead(request))
      return { status: 200, headers: server.date, body: publishedSchemas(server.kinds) };
    assertConsistent(request);
    const known = parsed.get(request);
    server.actor = "operator";
    const { status, headers, body } =
      known === undefined ? server.handle(toRaw(request)) : server.answer(known);
    server.actor = "user";
    return { status, headers: { ...headers, ...server.date }, body: JSON.stringify(body) };
  };
  return {
    name: "kube",
    latency: [1, 4],
    revision: () => server.storage.revision,
    describe: (request) => {
      if (isAccessReview(request)) return question("create selfsubjectaccessreviews");
      if (isSchemaRead(request)) return question("get schemas");
      try {
        const known = server.parse(toRaw(request));
        parsed.set(request, known);
        return describe(known, request);
      } catch {
        return {
          operation: "unknown",
          target: "",
          mutating: request.method !== "GET",
          isConditional: false,
        };
      }
    },
    handle,
    accept: (request) => () => handle(request),
  };
}

/** A read that names a version may be answered from the cache of a server that is behind; one without is answered from etcd. */
function assertConsistent({ method, url }: HttpRequest): void {
  if (method === "GET" && new URL(url).searchParams.has("resourceVersion"))
    throw new Error(`this read may be answered with an older state: ${url}`);
}

/** The operator may do what it asks about; a fault may say otherwise. */
const ALLOWED = {
  status: 201,
  headers: {},
  body: JSON.stringify({ kind: "SelfSubjectAccessReview", status: { allowed: true } }),
};

function question(operation: string) {
  return { operation, target: "", mutating: false, isConditional: false };
}

function isSchemaRead({ url }: HttpRequest): boolean {
  return new URL(url).pathname.startsWith("/openapi/v3/");
}

function isAccessReview({ url }: HttpRequest): boolean {
  return url.endsWith("/selfsubjectaccessreviews");
}

function describe(
  { verb, kind, status, dryRun, namespace = "", name = "", body }: ApiRequest,
  { method }: HttpRequest,
) {
  const { metadata, preconditions } = (body ?? {}) as {
    metadata?: Identity & { name?: string };
    preconditions?: Identity;
  };
  const operation = `${verb} ${kind.type.plural}${status ? "/status" : ""}${dryRun ? " (dry run)" : ""}`;
  const target = keyText({ namespace, name: name || (metadata?.name ?? "") });
  const { uid, resourceVersion } = (verb === "delete" ? preconditions : metadata) ?? {};
  const isConditional = uid !== undefined || resourceVersion !== undefined;
  return { operation, target, mutating: method !== "GET" && !dryRun, isConditional };
}

interface Identity {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

function toRaw({ method, url, headers, body }: HttpRequest) {
  return { method, url, headers, ...(body === undefined ? {} : { body }) };
}

export function iamEndpoint(console: Console): Endpoint {
  return {
    name: "iam",
    latency: [5, 40],
    revision: () => console.world.journal.length,
    describe: (request) => {
      const operation = console.operationOf(request);
      const target = new URL(request.url).pathname.split("/").at(-1) ?? "";
      return {
        operation,
        target,
        tpn: tpnOf(operation, request),
        mutating: MUTATING_IAM.has(operation),
        isConditional: false,
      };
    },
    handle: (request, behindMs) => console.handle(request, behindMs),
    accept: (request) => console.accept(request),
  };
}

function tpnOf(operation: string, { url, body }: HttpRequest): string | undefined {
  if (operation === "listBindings") return new URL(url).searchParams.get("targetId") ?? undefined;
  if (operation !== "syncBindings" || body === undefined) return undefined;
  return (JSON.parse(Buffer.from(body).toString()) as { targetId?: string }).targetId;
}
