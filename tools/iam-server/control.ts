/** Through this, on loopback only, a person or another process looks at the console, moves its time and breaks calls. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { parseDuration } from "../../src/util/time.ts";
import { FaultRule } from "./faults.ts";
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
  readonly call: string;
  readonly help: string;
  readonly run: (server: IamServer, body: unknown) => unknown;
}

const COMMANDS: readonly Command[] = [
  {
    call: "GET /",
    help: "this list",
    run: () => ({ commands: COMMANDS.map(({ call, help }) => `${call}  ${help}`) }),
  },
  {
    call: "GET /state",
    help: "the world without secrets, how often each call was made, and the faults",
    run: ({ world, requests, faults }) => ({
      ...(world.snapshot() as object),
      requests: requests.counts(),
      unknownCalls: requests.unknownCalls,
      faults: faults.list.map(({ id, rule, matched, hits }) => ({ id, rule, matched, hits })),
    }),
  },
  {
    call: "POST /clock/advance",
    help: '{"by":"24h"}',
    run: ({ world: { clock } }, body) => {
      clock.advance(Advance.parse(body).by);
      return { now: new Date(clock.now()).toISOString() };
    },
  },
  {
    call: "POST /faults",
    help: '{"operation":"issueKey","fault":{"kind":"Reset","when":"AfterCommit"}}',
    run: ({ faults }, body) => ({ id: faults.add(FaultRule.parse(body) as FaultRule).id }),
  },
  {
    call: "DELETE /faults",
    help: "everything back to normal; held calls go on",
    run: ({ faults }) => faults.clear(),
  },
];

/** Listens on loopback; answers JSON. */
export async function startControl(
  server: IamServer,
  port: number,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const http = createServer((request, response) => {
    void answer(server, request, response).catch(() => response.destroy());
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
  const text = (await request.toArray()).join("");
  const command = commandOf(request);
  if (command === undefined)
    return respond(response, 404, { error: "no such command; GET / lists them" });
  try {
    const result = await command.run(server, text === "" ? undefined : JSON.parse(text));
    respond(response, 200, result ?? { ok: true });
  } catch (error) {
    const { call, help } = command;
    respond(response, 400, { error: `${describe(error)}. Expected: ${call}  ${help}` });
  }
}

function commandOf({ method, url = "/" }: IncomingMessage): Command | undefined {
  const { pathname } = new URL(url, "http://control");
  return COMMANDS.find(({ call }) => call === `${method} ${pathname}`);
}

function respond(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(`${JSON.stringify(body, undefined, 2)}\n`);
}

/** One line that a person can act on. */
function describe(error: unknown): string {
  if (error instanceof z.ZodError) return error.issues.map(describeIssue).join("; ");
  return error instanceof Error ? error.message : String(error);
}

/** Of several forms that a value may have, the last one is that for people. */
function describeIssue(issue: z.core.$ZodIssue): string {
  const inner = issue.code === "invalid_union" ? issue.errors.at(-1)?.[0]?.message : undefined;
  return `${issue.path.join(".") || "body"}: ${inner ?? issue.message}`;
}
