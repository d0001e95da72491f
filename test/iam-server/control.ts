/** A small HTTP interface, on loopback only, through which another process steers the console. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { parseDuration } from "../../src/util/time.ts";
import { type Fault, FaultRule } from "./faults.ts";
import { SEEDED } from "./seed.ts";
import type { IamServer } from "./server.ts";
import { SHAPE_NAMES, SHAPE_VARIANTS, type Shapes } from "./shapes.ts";

const Duration = z.union([
  z.number(),
  z.string().transform((text, context) => {
    const ms = parseDuration(text.replace(/^-/, ""));
    if (ms !== undefined) return text.startsWith("-") ? -ms : ms;
    context.addIssue(`not a duration such as 90s or 24h: ${text}`);
    return z.NEVER;
  }),
]);
const Status = z.enum(["active", "inactive"]);
const ShapeChoice = z.strictObject(
  Object.fromEntries(
    SHAPE_NAMES.map((name) => [name, z.enum(SHAPE_VARIANTS[name]).optional()] as const),
  ),
);
const Conditions = z.strictObject({
  latency: Duration.optional(),
  keyPropagation: Duration.optional(),
  listsBehind: Duration.optional(),
  dateSkew: Duration.optional(),
  reachability: z.enum(["up", "refuse", "reset", "unavailable"]).optional(),
  rateLimit: z
    .object({
      requestsPerSecond: z.number().min(0),
      burst: z.number().min(0),
      retryAfter: z.number().optional(),
    })
    .nullable()
    .optional(),
});
const Advance = z.strictObject({ by: Duration });
const Revoke = z.strictObject({ username: z.string().optional() });
const Bindings = z.strictObject({ tpn: z.string(), policyIds: z.array(z.string()) });
const Bulk = z.strictObject({
  count: z.int().min(1).max(100_000),
  keysPerAccount: z.int().min(0).max(100).optional(),
  prefix: z.string().optional(),
});
const UserChange = z.strictObject({
  password: z.string().optional(),
  mfaRequired: z.boolean().optional(),
  locked: z.boolean().optional(),
  policyIds: z.array(z.string()).optional(),
});

interface Command {
  readonly server: IamServer;
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface CommandRoute {
  readonly method: string;
  readonly path: RegExp;
  readonly help: string;
  readonly run: (command: Command) => unknown;
}

const route = (method: string, path: string, help: string, run: CommandRoute["run"]) => ({
  method,
  path: new RegExp(`^${path.replaceAll("*", "([^/]+)")}$`),
  help: `${method} ${path.replaceAll("*", "{id}")}  ${help}`,
  run,
});

const ROUTES: readonly CommandRoute[] = [
  route("GET", "/", "this list", () => ({ commands: ROUTES.map(({ help }) => help) })),
  route("GET", "/state", "the world without secrets, shapes, counters", ({ server }) => ({
    ...(server.world.snapshot() as object),
    shapes: server.shapes,
    requests: server.requests.counts(),
    unknownCalls: server.requests.unknownCalls.length,
    conditions: conditions(server),
  })),
  route("GET", "/journal", "committed changes", ({ server }) => server.world.journal),
  route("POST", "/clock/advance", '{"by":"24h"}', ({ server, body }) => {
    server.world.clock.advance(Advance.parse(body).by);
    return { now: new Date(server.world.clock.now()).toISOString() };
  }),
  route("GET", "/faults", "faults that are set up", ({ server }) =>
    server.faults.list.map(faultView),
  ),
  route(
    "POST",
    "/faults",
    '{"operation":"issueKey","when":"afterCommit","action":{"kind":"reset"}}',
    ({ server, body }) => faultView(server.faults.add(FaultRule.parse(body) as FaultRule)),
  ),
  route("POST", "/faults/*/release", "lets held calls go on", ({ server, params }) => {
    found(server.faults.get(Number(params[0]))).release();
  }),
  route("DELETE", "/faults/*", "removes one fault", ({ server, params }) => {
    found(server.faults.get(Number(params[0]))).remove();
  }),
  route("DELETE", "/faults", "everything back to normal", ({ server }) => server.faults.clear()),
  route("GET", "/conditions", "latency, reachability, ...", ({ server }) => conditions(server)),
  route(
    "POST",
    "/conditions",
    '{"latency":"20ms","keyPropagation":"5s","listsBehind":"60s","dateSkew":"-10m","reachability":"refuse","rateLimit":{"requestsPerSecond":10,"burst":20,"retryAfter":1}}',
    setConditions,
  ),
  route("GET", "/shapes", "chosen answer shapes, and all variants", ({ server }) => ({
    chosen: server.shapes,
    variants: SHAPE_VARIANTS,
  })),
  route("POST", "/shapes", '{"bindings":"unreadable"}', ({ server, body }) => {
    const chosen = ShapeChoice.parse(body) as Partial<Shapes>;
    server.shapes = { ...server.shapes, ...chosen };
    return server.shapes;
  }),
  route("GET", "/requests", "?operation=&limit=100, latest last", listRequests),
  route("DELETE", "/requests", "forgets requests and counters", ({ server }) =>
    server.requests.clear(),
  ),
  route(
    "GET",
    "/unknown-calls",
    "calls beyond the documented ones",
    ({ server }) => server.requests.unknownCalls,
  ),
  route("POST", "/tokens/revoke", '{"username":"operator"} or {}', ({ server, body }) => ({
    revoked: server.world.revokeTokens(Revoke.parse(body ?? {}).username),
  })),
  route("POST", "/users/*", '{"password":"x","mfaRequired":true}', changeUser),
  route("POST", "/service-accounts/*", '{"status":"inactive"}', ({ server, params, body }) => {
    const { status } = z.strictObject({ status: Status }).parse(body);
    server.world.setAccountStatus(params[0] ?? "", status);
  }),
  route("DELETE", "/service-accounts/*", "with keys and bindings", ({ server, params }) =>
    server.world.deleteAccount(params[0] ?? ""),
  ),
  route("POST", "/keys/*", '{"status":"inactive"}', ({ server, params, body }) => {
    const { status } = z.strictObject({ status: Status }).parse(body);
    server.world.setKeyStatus(params[0] ?? "", status);
  }),
  route("DELETE", "/keys/*", "removes a key", ({ server, params }) =>
    server.world.deleteKey(params[0] ?? ""),
  ),
  route("PUT", "/bindings", '{"tpn":"...","policyIds":[]}', ({ server, body }) => {
    const { tpn, policyIds } = Bindings.parse(body);
    server.world.replaceBindings(tpn, policyIds);
  }),
  route("POST", "/bulk", '{"count":5000,"keysPerAccount":2}: many accounts', createMany),
];

/** Listens on loopback; answers JSON. */
export async function startControl(
  server: IamServer,
  port: number,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const http = createServer((request, response) => {
    void answer(server, request, response).catch((error: unknown) =>
      respond(response, 400, { error: describe(error, request) }),
    );
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  http.once("error", reject);
  http.listen(port, "127.0.0.1", resolve);
  await promise;
  const close = () => {
    const closed = Promise.withResolvers<void>();
    http.close(() => closed.resolve());
    http.closeAllConnections();
    return closed.promise;
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, close };
}

async function answer(
  server: IamServer,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://control");
  const text = (await request.toArray()).join("");
  for (const { method, path, run } of ROUTES) {
    const match = method === request.method ? path.exec(url.pathname) : null;
    if (match === null) continue;
    const body: unknown = text === "" ? undefined : JSON.parse(text);
    const params = match.slice(1).map(decodeURIComponent);
    const result = await run({ server, params, query: url.searchParams, body });
    return respond(response, 200, result ?? { ok: true });
  }
  respond(response, 404, { error: "no such command; GET / lists them" });
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body, undefined, 2)}\n`);
}

/** One line that a person can act on, with the command as the list has it. */
function describe(error: unknown, { method, url = "/" }: IncomingMessage): string {
  const { pathname } = new URL(url, "http://control");
  const help = ROUTES.find((each) => each.method === method && each.path.test(pathname))?.help;
  const what =
    error instanceof z.ZodError
      ? error.issues.map(describeIssue).join("; ")
      : error instanceof Error
        ? error.message
        : String(error);
  return help === undefined ? what : `${what}. Expected: ${help}`;
}

/** Of several forms that a value may have, the last one is that for people. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0]?.message : undefined;
  return `${issue.path.join(".") || "body"}: ${inner ?? issue.message}`;
}

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("not found");
  return value;
}

function faultView({ id, rule, matched, hits }: Fault): object {
  return { id, rule, matched, hits };
}

function conditions({ faults }: IamServer): object {
  const { latencyMs, keyPropagationMs, listsBehindMs, dateSkewMs } = faults;
  const { reachability, rateLimit = null } = faults;
  return { latencyMs, keyPropagationMs, listsBehindMs, dateSkewMs, reachability, rateLimit };
}

async function setConditions({ server, body }: Command): Promise<object> {
  const { faults } = server;
  const wanted = Conditions.parse(body);
  faults.latencyMs = wanted.latency ?? faults.latencyMs;
  faults.keyPropagationMs = wanted.keyPropagation ?? faults.keyPropagationMs;
  faults.listsBehindMs = wanted.listsBehind ?? faults.listsBehindMs;
  faults.dateSkewMs = wanted.dateSkew ?? faults.dateSkewMs;
  if (wanted.rateLimit === null) faults.rateLimit = undefined;
  else if (wanted.rateLimit !== undefined) {
    const { retryAfter, ...limit } = wanted.rateLimit;
    faults.rateLimit = retryAfter === undefined ? limit : { ...limit, retryAfter };
  }
  if (wanted.reachability !== undefined) await faults.setReachability(wanted.reachability);
  return conditions(server);
}

function listRequests({ server, query }: Command): unknown {
  const operation = query.get("operation");
  const limit = Number(query.get("limit") ?? 100);
  return server.requests.all
    .filter((record) => operation === null || record.operation === operation)
    .slice(-limit);
}

function changeUser({ server, params, body }: Command): void {
  const user = found(server.world.users.get(params[0] ?? ""));
  const { password, mfaRequired, locked, policyIds } = UserChange.parse(body);
  user.password = password ?? user.password;
  user.mfaRequired = mfaRequired ?? user.mfaRequired;
  user.locked = locked ?? user.locked;
  user.policyIds = policyIds ?? user.policyIds;
  if (locked === false) user.failedLogins = 0;
}

function createMany({ server, body }: Command): object {
  const { count, keysPerAccount = 0, prefix = "bulk" } = Bulk.parse(body);
  const { orgId, projectId } = SEEDED;
  for (let index = 0; index < count; index += 1) {
    const name = `${prefix}-${index}`;
    const { saId } = server.world.createAccount({ orgId, projectId, name, description: "" });
    for (let key = 0; key < keysPerAccount; key += 1) {
      server.world.issueKey(saId, { description: `bulk ${key}`, expiresInDays: 90 });
    }
  }
  return { serviceAccounts: server.world.accounts.size, keys: server.world.keys.size };
}
