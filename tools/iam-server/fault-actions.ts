/** Carries faults out on an open connection. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { altered, GARBLED, intercepted, type Refusal } from "../server-fault.ts";
import { ApiError } from "./api-error.ts";
import type { DelayedCall } from "./delayed-call.ts";
import type { ActiveFault, ConsoleFault } from "./faults.ts";
import { type Reply, toErrorReply } from "./reply.ts";
import type { Shapes } from "./shapes.ts";

/** Twice as much as any caller should read. */
const HUGE_BYTES = 16 * 1024 * 1024;

export interface Wire {
  readonly call: DelayedCall;
  readonly response: ServerResponse;
  readonly shapes: Readonly<Shapes>;
  readonly now: number;
  /** What the console would have answered; empty before the commit. */
  readonly reply: Reply;
  /** How much longer the response takes. */
  slowMs: number;
  /** Called with a status at the moment its head is sent. */
  readonly onStatus: (status: number) => void;
}

/** Answers whether the call has been ended by the fault. */
export async function inflict(
  { rule: { fault }, released }: ActiveFault,
  wire: Wire,
): Promise<boolean> {
  switch (fault.kind) {
    case "Slow":
      wire.slowMs += fault.ms;
      await delay(fault.ms);
      return false;
    case "Hold":
      await released;
      return false;
    case "Reset":
      reset(wire.response.socket);
      return true;
    case "Silence":
      return true;
    case "Drip":
      await drip(wire, fault.intervalMs, fault.chunkBytes ?? 1);
      return true;
    case "Huge":
      await sendHuge(wire);
      return true;
    case "Garble":
      if (fault.how === "Truncated") await truncate(wire);
      else send(wire, altered({ kind: "Answer", body: GARBLED[fault.how] }, wire.reply));
      return true;
    case "Answer":
      send(wire, altered(fault, wire.reply));
      return true;
    case "LateCommit":
      setTimeout(wire.call.accept(), fault.ms).unref();
      if (fault.status !== undefined) send(wire, refusal({ status: fault.status }, wire));
      return true;
    case "DoubleCommit":
      await commitTwice(wire, fault);
      return true;
    case "Intercept":
      send(wire, intercepted(fault));
      return true;
    case "Behind":
      send(wire, wire.call.commit(fault.ms));
      return true;
    case "Refuse":
      send(wire, refusal(fault, wire));
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

async function commitTwice(
  wire: Wire,
  { ms, answer }: Extract<ConsoleFault, { kind: "DoubleCommit" }>,
): Promise<void> {
  const first = wire.call.commit();
  if (answer === "First") send(wire, first);
  await delay(ms, undefined, { ref: false });
  const second = wire.call.commit();
  if (answer === "Second") send(wire, second);
}

function refusal(
  { status, retryAfter, message = "injected" }: Omit<Refusal, "kind">,
  { shapes, now }: Wire,
): Reply {
  const headers: Record<string, string> =
    retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
  return toErrorReply(new ApiError(status, message), shapes, now, headers);
}

/** Announces the whole body, sends half of it and closes the connection. */
async function truncate({ response, reply, onStatus }: Wire): Promise<void> {
  const whole = Buffer.from(reply.body);
  onStatus(reply.status);
  response.writeHead(reply.status, { ...reply.headers, "content-length": whole.length + 1 });
  response.flushHeaders();
  const ended = endOf(response);
  const { promise: flushed, resolve } = Promise.withResolvers<void>();
  response.write(whole.subarray(0, whole.length / 2), () => resolve());
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

async function sendHuge({ response, reply, onStatus }: Wire): Promise<void> {
  const status = reply.status < 300 ? reply.status : 200;
  onStatus(status);
  response.writeHead(status, { "content-type": "application/json" });
  response.write('{"message":"');
  const ended = endOf(response);
  const chunk = Buffer.alloc(64 * 1024, "x");
  for (let sent = 0; sent < HUGE_BYTES && !response.destroyed; sent += chunk.length) {
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
