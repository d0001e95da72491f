/**
 * A console that answers exactly the documented calls over real HTTP, from a world in memory.
 *
 * A call goes through: arrival is recorded; latency; faults before the commit; authentication and the endpoint, in one
 * synchronous step that commits; faults after the commit; the answer.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../../src/util/time.ts";
import type { Moment } from "../server-fault.ts";
import { offeredAuth, type Principal } from "./authentication.ts";
import { WorldClock } from "./clock.ts";
import { startControl } from "./control.ts";
import { type DelayedCall, delayedCallOf } from "./delayed-call.ts";
import { inflict, reset, send, type Wire } from "./fault-actions.ts";
import { Faults } from "./faults.ts";
import type { ExtraCalls } from "./operations.ts";
import type { Reply } from "./reply.ts";
import { RequestLog, type RequestRecord, withoutSecrets } from "./request-log.ts";
import { type Route, Router } from "./router.ts";
import { type Credentials, seed } from "./seed.ts";
import { type Shapes, shapes as withDefaults } from "./shapes.ts";
import { World, type WorldSettings } from "./world.ts";

export interface IamServerOptions {
  /** 0 (default): any free port. */
  readonly port?: number;
  readonly controlPort?: number;
  /** Address of the console, default 127.0.0.1. The control interface is always on loopback. */
  readonly host?: string;
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly latencyMs?: number;
  readonly shapes?: Partial<Shapes>;
  /** What the console's own clock runs along with; default: real time. */
  readonly clock?: Pick<Clock, "now">;
  readonly settings?: Partial<WorldSettings>;
  /** Calls beyond the documented ones; none by default. */
  readonly extraCalls?: ExtraCalls;
  readonly credentials?: Credentials;
  /** `false` starts with an empty world. */
  readonly seeded?: boolean;
}

export interface IamServer {
  readonly url: string;
  readonly controlUrl: string;
  readonly world: World;
  readonly faults: Faults;
  readonly requests: RequestLog;
  /** Read at every call: assign to change it. */
  shapes: Shapes;
  /** Ends every connection, hanging ones included. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;
/** Until a call is committed. */
const NO_REPLY: Reply = { status: 200, headers: {}, body: "" };

export async function startIamServer(options: IamServerOptions = {}): Promise<IamServer> {
  const console = new ConsoleServer(options);
  await console.start();
  return console;
}

class ConsoleServer implements IamServer {
  readonly world: World;
  readonly requests = new RequestLog();
  readonly faults: Faults;
  shapes: Shapes;
  url = "";
  controlUrl = "";
  readonly #options: IamServerOptions;
  readonly #router: Router;
  readonly #http: Server;
  #port: number;
  #control: { readonly url: string; close(): Promise<void> } | undefined;

  constructor(options: IamServerOptions) {
    this.#options = options;
    this.#port = options.port ?? 0;
    this.shapes = withDefaults(options.shapes);
    this.world = new World(new WorldClock(options.clock ?? systemClock), options.settings);
    if (options.seeded !== false) seed(this.world, options.credentials);
    this.faults = new Faults((wanted) => (wanted ? this.#listen() : this.#stopListening()));
    this.faults.latencyMs = options.latencyMs ?? 0;
    this.#router = new Router(options.extraCalls);
    const listener = (request: IncomingMessage, response: ServerResponse) => {
      void this.#serve(request, response).catch(() => reset(response.socket));
    };
    this.#http = options.tls ? createTlsServer(options.tls, listener) : createServer(listener);
    this.#http.keepAliveTimeout = 60_000;
  }

  async start(): Promise<void> {
    await this.#listen();
    const { port } = this.#http.address() as AddressInfo;
    this.#port = port;
    const host = this.#options.host ?? "127.0.0.1";
    const named = host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
    this.url = `${this.#options.tls ? "https" : "http"}://${named}:${port}`;
    this.#control = await startControl(this, this.#options.controlPort ?? 0);
    this.controlUrl = this.#control.url;
  }

  async close(): Promise<void> {
    await this.#control?.close();
    await this.#stopListening();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = toTarget(request.url ?? "/");
    const route = this.#router.find(request.method ?? "", target.path);
    const record = this.requests.open(this.#arrival(request, target, route));
    response.once("close", () => this.requests.close());
    response.setHeader(
      "date",
      new Date(this.world.clock.now() + this.faults.dateSkewMs).toUTCString(),
    );
    const body = await readBody(request);
    if (this.faults.latencyMs > 0) await delay(this.faults.latencyMs);
    const call = this.#delayedCall(request, target, route, body, record);
    const wire = this.#wire(response, record, call);
    record.body = withoutSecrets(body.json);
    if (await this.#suffer("BeforeCommit", record, wire)) return;
    const reply = call.commit();
    if (wire.slowMs > 0) await delay(wire.slowMs);
    const after = { ...wire, reply };
    if (await this.#suffer("AfterCommit", record, after)) return;
    send(after, reply);
  }

  #delayedCall(
    request: IncomingMessage,
    target: Target,
    route: Route | undefined,
    body: Body,
    record: RequestRecord,
  ): DelayedCall {
    const { shapes, world } = this;
    const { keyPropagationMs, listsBehindMs } = this.faults;
    const call = delayedCallOf(
      { world, shapes, keyPropagationMs, listsBehindMs },
      {
        route,
        query: target.query,
        headers: request.headers,
        body: body.json,
        bodyProblem: body.problem,
      },
      (principal) => {
        record.principal = nameOf(principal);
      },
    );
    const noted = (reply: Reply) => {
      record.decided = reply.status;
      return reply;
    };
    return {
      commit: (behindMs) => noted(call.commit(behindMs)),
      accept: () => {
        const commit = call.accept();
        return () => noted(commit());
      },
    };
  }

  async #suffer(when: Moment, record: RequestRecord, wire: Wire): Promise<boolean> {
    for (const fault of this.faults.acting(when, record)) {
      record.faults.push(fault.rule.fault.kind);
      if (await inflict(fault, wire)) return true;
    }
    return false;
  }

  #arrival(request: IncomingMessage, target: Target, route: Route | undefined) {
    const names = [...new Set(target.query.keys())];
    const documented = route?.shape.query;
    return {
      at: this.#now(),
      operation: route?.operation,
      method: request.method ?? "",
      path: target.path,
      query: Object.fromEntries(names.map((name) => [name, target.query.getAll(name)])),
      auth: offeredAuth(request.headers),
      undocumentedParameters: names.filter((name) => documented?.includes(name) === false),
    };
  }

  #wire(response: ServerResponse, record: RequestRecord, call: DelayedCall): Wire {
    const onStatus = (status: number) => {
      record.status = status;
    };
    const { shapes } = this;
    return { call, response, shapes, now: this.#now(), reply: NO_REPLY, slowMs: 0, onStatus };
  }

  #now(): number {
    return this.world.clock.now();
  }

  async #listen(): Promise<void> {
    if (this.#http.listening) return;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#http.once("error", reject);
    this.#http.listen(this.#port, this.#options.host ?? "127.0.0.1", resolve);
    await promise;
    this.#http.off("error", reject);
  }

  async #stopListening(): Promise<void> {
    if (!this.#http.listening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#http.close(() => resolve());
    this.#http.closeAllConnections();
    await promise;
  }
}

interface Target {
  readonly path: string;
  readonly query: URLSearchParams;
}

function toTarget(url: string): Target {
  const mark = url.indexOf("?");
  return mark < 0
    ? { path: url, query: new URLSearchParams() }
    : { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
}

interface Body {
  readonly json: unknown;
  /** Why the body is not JSON. */
  readonly problem?: string;
}

async function readBody(request: IncomingMessage): Promise<Body> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  if (size === 0) return { json: undefined };
  if (size > MAX_BODY_BYTES) return { json: undefined, problem: "is too large" };
  if (!/^application\/json\b/i.test(request.headers["content-type"] ?? "")) {
    return { json: undefined, problem: "must be application/json" };
  }
  try {
    return { json: JSON.parse(Buffer.concat(chunks).toString("utf8")) };
  } catch {
    return { json: undefined, problem: "is not JSON" };
  }
}

function nameOf(principal: Principal): string | undefined {
  switch (principal.kind) {
    case "anonymous":
      return undefined;
    case "user":
      return principal.user.username;
    case "account":
      return principal.key.keyId;
  }
}
