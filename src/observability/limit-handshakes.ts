import type { Server } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { type Clock, MINUTE } from "../util/time.ts";
import { TokenBucket } from "../util/token-bucket.ts";

/** For sources that are not trusted. A handshake takes about a millisecond of the only thread. */
const PER_SECOND = 25;
const BURST = 20;
const AT_ONCE = 16;
/** For each source, trusted or not. */
const AT_ONCE_OF_SOURCE = 4;
/**
 * Each waiting connection costs a socket. Beyond this number, the oldest connection of the source with the most waiting
 * connections is closed.
 */
const MAX_WAITING = 512;
const TRUSTED_FOR_MS = 15 * MINUTE;
const MAX_TRUSTED = 100;

export interface HandshakeLimit {
  /** Gives handshakes of this address priority for the next 15 minutes. */
  trust(address: string | undefined): void;
}

/**
 * Starts TLS handshakes one after the other: sources take turns, each source can have a few handshakes in progress, and
 * untrusted sources together have a rate limit. Trusted sources go first and never wait for other sources. Must be
 * called after all other listeners for connections are added.
 */
export function limitHandshakes(server: Server, clock: Clock): HandshakeLimit {
  const begin = server.listeners("connection");
  const bucket = new TokenBucket(clock, { perSecond: PER_SECOND, burst: BURST });
  /** By source, in the order of their turns. */
  const waiting = new Map<string, Set<Socket>>();
  /** By source: ports, and whether the handshake counts as untrusted. */
  const running = new Map<string, Map<string, boolean>>();
  const trusted = new Map<string, number>();
  let waitingCount = 0;
  let runningCount = 0;
  let cancelTimer: (() => void) | undefined;

  const isTrusted = (source: string) => clock.monotonic() < (trusted.get(source) ?? 0);
  const isFree = (source: string) => (running.get(source)?.size ?? 0) < AT_ONCE_OF_SOURCE;
  const leaveLine = (source: string, socket: Socket) => {
    const line = waiting.get(source);
    if (!line?.delete(socket)) return;
    waitingCount -= 1;
    if (line.size === 0) waiting.delete(source);
  };
  const end = (source: string, port: string) => {
    const ports = running.get(source);
    const isCounted = ports?.get(port);
    if (isCounted === undefined || ports === undefined) return;
    ports.delete(port);
    if (ports.size === 0) running.delete(source);
    if (isCounted) runningCount -= 1;
    admit();
  };
  const start = (source: string, socket: Socket) => {
    leaveLine(source, socket);
    // The next turn belongs to another source.
    const line = waiting.get(source);
    if (line !== undefined) {
      waiting.delete(source);
      waiting.set(source, line);
    }
    const port = String(socket.remotePort);
    const isCounted = !isTrusted(source);
    running.set(source, (running.get(source) ?? new Map()).set(port, isCounted));
    if (isCounted) runningCount += 1;
    socket.once("close", () => end(source, port));
    for (const listener of begin) listener.call(server, socket);
  };
  const nextOf = (mayStart: (source: string) => boolean) => {
    for (const [source, line] of waiting) {
      const [socket] = line;
      if (socket !== undefined && isFree(source) && mayStart(source)) return { source, socket };
    }
    return undefined;
  };
  const admit = () => {
    for (let next = nextOf(isTrusted); next; next = nextOf(isTrusted))
      start(next.source, next.socket);
    while (runningCount < AT_ONCE) {
      const next = nextOf(() => true);
      if (next === undefined) return;
      if (!bucket.tryTake()) {
        cancelTimer ??= clock.setTimer(1_000 / PER_SECOND, () => {
          cancelTimer = undefined;
          admit();
        });
        return;
      }
      start(next.source, next.socket);
    }
  };
  const dropOldest = () => {
    const [first] = [...waiting].toSorted(([, a], [, b]) => b.size - a.size);
    const [oldest] = first?.[1] ?? [];
    oldest?.destroy();
  };

  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    const source = sourceOf(socket);
    const line = waiting.get(source) ?? new Set();
    waiting.set(source, line.add(socket));
    waitingCount += 1;
    socket.on("error", () => undefined);
    socket.once("close", () => leaveLine(source, socket));
    if (waitingCount > MAX_WAITING) dropOldest();
    admit();
  });
  server.on("secureConnection", (socket: TLSSocket) =>
    end(sourceOf(socket), String(socket.remotePort)),
  );
  server.once("close", () => cancelTimer?.());

  return {
    trust: (address) => {
      if (address === undefined) return;
      trusted.delete(address);
      trusted.set(address, clock.monotonic() + TRUSTED_FOR_MS);
      const [oldest] = trusted.keys();
      if (trusted.size > MAX_TRUSTED && oldest !== undefined) trusted.delete(oldest);
    },
  };
}

function sourceOf({ remoteAddress = "" }: Socket): string {
  return remoteAddress;
}
