/** Through this, on loopback only, a person or another process looks at the console, moves its time and breaks calls. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { parseDuration } from "../../src/util/time.ts";
import { type Fault, FaultRule } from "./faults.ts";
import type { IamServer } from "./server.ts";

const Duration = z.union([
  z.number(),
  z.string().transform((text, context) => {
    const ms = parseDuration(text.replace(/^-/, ""));
    if (ms !== undefined) return text.startsWith("-") ? -ms : ms;
    context.addIssue(`not a duration such as 90s or 24h: ${text}`);
    return z.NEVER;
  }),
]);
const Advance = z.strictObject({ by: Duration });

interface Command {
  readonly server: IamServer;
  readonly params: readonly string[];
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
  route(
    "GET",
    "/state",
    "the world without secrets, and how often each call was made",
    ({ server }) => ({
      ...(server.world.snapshot() as object),
      requests: server.requests.counts(),
      unknownCalls: server.requests.unknownCalls,
    }),
  ),
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
    const result = await run({ server, params, body });
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
