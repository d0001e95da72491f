/** Carries faults out on an open connection. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "./api-error.ts";
import type { Deed } from "./deed.ts";
import type { ActiveFault, FaultAction } from "./faults.ts";
import { type Reply, toErrorReply } from "./reply.ts";
import type { Shapes } from "./shapes.ts";

export interface Wire {
  readonly deed: Deed;
  readonly response: ServerResponse;
  readonly shapes: Readonly<Shapes>;
  readonly now: number;
  /** What the console would have answered. */
  readonly reply: Reply;
  /** Called with a status at the moment its head is sent. */
  readonly onStatus: (status: number) => void;
}

/** Answers whether the call has been ended by the fault. */
export async function inflict(fault: ActiveFault, wire: Wire): Promise<boolean> {
  const { action } = fault.rule;
  switch (action.kind) {
    case "delay":
      await delay(action.ms);
      return false;
    case "hold":
      await fault.released;
      return false;
    case "reset":
      reset(wire.response.socket);
      return true;
    case "hang":
      return true;
    case "truncate":
      await truncate(wire, action.bytes ?? Math.floor(Buffer.byteLength(wire.reply.body) / 2));
      return true;
    case "drip":
      await drip(wire, action.intervalMs, action.chunkBytes ?? 1);
      return true;
    case "huge":
      await sendHuge(wire, action.bytes);
      return true;
    case "lateCommit":
      setTimeout(wire.deed.accept(), action.ms).unref();
      if (action.status !== undefined)
        send(wire, replacement({ kind: "status", status: action.status }, wire));
      return true;
    case "doubleCommit":
      await commitTwice(wire, action);
      return true;
    case "behind":
      send(wire, wire.deed.commit(action.ms));
      return true;
    case "status":
    case "garbage":
    case "nested":
    case "redirect":
    case "body":
      send(wire, replacement(action, wire));
      return true;
  }
}

/** Sends a whole answer. */
export function send(wire: Pick<Wire, "response" | "onStatus">, reply: Reply): void {
  const { response, onStatus } = wire;
  if (response.destroyed) return;
  onStatus(reply.status);
  const length = reply.status === 204 ? {} : { "content-length": Buffer.byteLength(reply.body) };
  response.writeHead(reply.status, { ...reply.headers, ...length });
  response.end(reply.body);
}

/** Ends a connection with RST where the transport can, otherwise abruptly. */
export function reset(socket: Socket | null): void {
  if (socket === null || socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}

type Replacing = Extract<
  FaultAction,
  { kind: "status" | "garbage" | "nested" | "redirect" | "body" }
>;

async function commitTwice(
  wire: Wire,
  { ms, answer }: Extract<FaultAction, { kind: "doubleCommit" }>,
): Promise<void> {
  const first = wire.deed.commit();
  if (answer === "first") send(wire, first);
  await delay(ms, undefined, { ref: false });
  const second = wire.deed.commit();
  if (answer === "second") send(wire, second);
}

function replacement(action: Replacing, { reply, shapes, now }: Wire): Reply {
  const success = reply.status < 300 ? reply.status : 200;
  const json = { "content-type": "application/json" };
  switch (action.kind) {
    case "status": {
      const error = new ApiError(action.status, action.message ?? "injected fault");
      const retry =
        action.retryAfter === undefined ? {} : { "retry-after": String(action.retryAfter) };
      return toErrorReply(error, shapes, now, retry);
    }
    case "garbage":
      return { status: success, headers: json, body: '<html><body>{"result":' };
    case "nested": {
      const body = "[".repeat(action.depth) + "]".repeat(action.depth);
      return { status: success, headers: json, body };
    }
    case "redirect":
      return { status: action.status ?? 307, headers: { location: action.location }, body: "" };
    case "body": {
      const headers = { "content-type": action.contentType ?? "application/json" };
      return { status: action.status ?? success, headers, body: action.text };
    }
  }
}

async function truncate({ response, reply, onStatus }: Wire, bytes: number): Promise<void> {
  const whole = Buffer.from(reply.body);
  onStatus(reply.status);
  response.writeHead(reply.status, { ...reply.headers, "content-length": whole.length + 1 });
  response.flushHeaders();
  const ended = endOf(response);
  const { promise: flushed, resolve } = Promise.withResolvers<void>();
  response.write(whole.subarray(0, bytes), () => resolve());
  await Promise.race([flushed, ended]);
  response.socket?.destroySoon();
}

async function drip(wire: Wire, intervalMs: number, chunkBytes: number): Promise<void> {
  const { response, reply } = wire;
  const whole = Buffer.from(reply.body);
  wire.onStatus(reply.status);
  response.writeHead(reply.status, { ...reply.headers, "content-length": whole.length });
  response.flushHeaders();
  for (let at = 0; at < whole.length && !response.destroyed; at += chunkBytes) {
    response.write(whole.subarray(at, at + chunkBytes));
    await delay(intervalMs);
  }
  response.end();
}

async function sendHuge({ response, reply, onStatus }: Wire, bytes: number): Promise<void> {
  const status = reply.status < 300 ? reply.status : 200;
  onStatus(status);
  response.writeHead(status, { "content-type": "application/json" });
  response.write('{"message":"');
  const ended = endOf(response);
  const chunk = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < bytes && !response.destroyed; sent += chunk.length) {
    if (!response.write(chunk)) {
      const { promise: drained, resolve } = Promise.withResolvers<void>();
      response.once("drain", resolve);
      await Promise.race([drained, ended]);
    }
  }
  response.end('"}');
}

function endOf(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once("close", resolve);
  return promise;
}
