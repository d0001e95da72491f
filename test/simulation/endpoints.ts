/** The two models as ends of the network. */
import { keyText } from "../../src/kube/resource.ts";
import type { HttpRequest } from "../../src/util/http.ts";
import type { ApiServer } from "./api-server/server.ts";
import type { Console } from "./console.ts";
import type { Endpoint } from "./network.ts";

const MUTATING_IAM = new Set(["createServiceAccount", "issueKey", "syncBindings"]);

export function kubeEndpoint(server: ApiServer): Endpoint {
  return {
    name: "kube",
    latency: [1, 4],
    revision: () => server.storage.revision,
    describe: (request) => describe(server, request),
    handle: (request) => {
      server.actor = "operator";
      const { status, headers, body } = server.handle(toRaw(request));
      server.actor = "user";
      return { status, headers, body: JSON.stringify(body) };
    },
  };
}

function describe(server: ApiServer, request: HttpRequest) {
  try {
    const {
      verb,
      kind,
      status,
      dryRun,
      namespace = "",
      name = "",
      body,
    } = server.parse(toRaw(request));
    const { metadata } = (body ?? {}) as { metadata?: { name?: string } };
    const what = `${verb} ${kind.type.plural}${status ? "/status" : ""}${dryRun ? " (dry run)" : ""}`;
    const target = keyText({ namespace, name: name || (metadata?.name ?? "") });
    return { operation: what, target, mutating: request.method !== "GET" && !dryRun };
  } catch {
    return { operation: "unknown", target: "", mutating: request.method !== "GET" };
  }
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
      return { operation, target, mutating: MUTATING_IAM.has(operation) };
    },
    handle: (request) => console.handle(request),
  };
}
