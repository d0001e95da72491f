/** What a request asks for. */
import { ApiFailure, badRequest } from "./failure.ts";
import type { ServedKind } from "./kinds.ts";
import { isTree, type Tree } from "./tree.ts";

export type Verb = "get" | "list" | "watch" | "create" | "replace" | "apply" | "patch" | "delete";

export interface ApiRequest {
  readonly verb: Verb;
  readonly kind: ServedKind;
  /** `undefined`: all of them, or a cluster-scoped kind. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly status: boolean;
  readonly query: URLSearchParams;
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly accept: string;
  readonly body: Tree | undefined;
}

export interface RawRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

const PATH =
  /^\/(?:api|apis\/(?<group>[^/]+))\/(?<version>v[^/]+)(?:\/namespaces\/(?<namespace>[^/]+)(?=\/))?\/(?<plural>[^/]+)(?:\/(?<name>[^/]+))?(?:\/(?<sub>[^/]+))?$/;

export function parseRequest(kinds: readonly ServedKind[], raw: RawRequest): ApiRequest {
  const { pathname, searchParams: query } = new URL(raw.url);
  const parts = PATH.exec(pathname)?.groups ?? {};
  const kind = kinds.find(
    ({ type }) =>
      type.plural === parts.plural &&
      type.group === (parts.group ?? "") &&
      type.version === parts.version,
  );
  if (kind === undefined) throw new ApiFailure(404, "NotFound", "the server could not find it");
  if (parts.sub !== undefined && !(parts.sub === "status" && kind.hasStatus)) {
    throw new ApiFailure(404, "NotFound", "the server could not find the requested resource");
  }
  const name = parts.name === undefined ? undefined : decodeURIComponent(parts.name);
  const body = parseBody(raw);
  const verb = verbOf(raw, name, query);
  return {
    verb,
    kind,
    namespace: parts.namespace === undefined ? undefined : decodeURIComponent(parts.namespace),
    name,
    status: parts.sub === "status",
    query,
    dryRun: query.get("dryRun") === "All" || (verb === "delete" && isDryRun(body)),
    fieldManager: query.get("fieldManager") ?? "unknown",
    accept: raw.headers.accept ?? "",
    body,
  };
}

function isDryRun(body: Tree | undefined): boolean {
  return Array.isArray(body?.dryRun) && body.dryRun.includes("All");
}

function verbOf(raw: RawRequest, name: string | undefined, query: URLSearchParams): Verb {
  switch (raw.method) {
    case "GET":
      if (name !== undefined) return "get";
      return query.get("watch") === "true" ? "watch" : "list";
    case "POST":
      return "create";
    case "PUT":
      return "replace";
    case "DELETE":
      return "delete";
    default:
      return raw.headers["content-type"]?.startsWith("application/apply-patch") ? "apply" : "patch";
  }
}

function parseBody({ body }: RawRequest): Tree | undefined {
  if (body === undefined || body.length === 0) return undefined;
  try {
    const value: unknown = JSON.parse(
      typeof body === "string" ? body : Buffer.from(body).toString("utf8"),
    );
    if (isTree(value)) return value;
  } catch {
    // Said below.
  }
  throw badRequest("the body is not a JSON object");
}
