/** Watches over the network: events arrive late but in order, and faults strike single streams. */
import { HttpError, type OpenStream, type StreamResponse } from "../../src/http/http.ts";
import { ApiFailure, expired, refusal } from "../api-server/failure.ts";
import type { ApiServer } from "../api-server/server.ts";
import { errorEvent, toLine, type Watch, type WatchEvent } from "../api-server/watch.ts";
import { ByteStream } from "./byte-stream.ts";
import type { Label } from "./event-queue.ts";
import type { WatchFault } from "./faults.ts";
import type { NetworkContext } from "./network.ts";
import type { SimProcess } from "./sim-process.ts";

const BOOKMARK_MS = 55_000;
export const WATCH_LATENCY_MS = [1, 20] as const;

export function createOpenStream(
  context: NetworkContext,
  process: SimProcess,
  server: ApiServer,
): OpenStream {
  return ({ url, headers, signal }) =>
    new Promise<StreamResponse>((resolve, reject) => {
      const onAbort = () => reject(new HttpError("aborted", "simulated: aborted"));
      if (signal.aborted) return onAbort();
      signal.addEventListener("abort", onAbort, { once: true });
      const connect = () => {
        if (!process.alive || signal.aborted) return;
        const opened = open(context, process, server, { method: "GET", url, headers }, signal);
        process.deliver(() => {
          signal.removeEventListener("abort", onAbort);
          if (!signal.aborted) resolve(opened);
        });
      };
      // It leads to the server and, since nothing can come in between, back.
      const name = `watch ${process.name} ${new URL(url).pathname}`;
      context.kernel.schedule(latency(context), connect, () => ({
        to: process.name,
        name,
        isRead: false,
      }));
    });
}

function open(
  context: NetworkContext,
  process: SimProcess,
  server: ApiServer,
  raw: { method: string; url: string; headers: Readonly<Record<string, string>> },
  signal: AbortSignal,
): StreamResponse {
  const body = new ByteStream();
  try {
    const { kind } = server.parse(raw);
    const { plural } = kind.type;
    const { stream, fault } = context.faults.strikeWatch(plural);
    context.kernel.note(`${process.name} watch ${plural} ${fault?.kind ?? ""}`);
    if (fault?.kind === "Refuse") throw refusal(fault);
    const behind = fault?.kind === "Stale" ? fault.revisions : 0;
    const watch = server.watch(raw, behind);
    const name = `${process.name} ${plural}`;
    const onEvent = (nth: number) =>
      void context.journal.watched.push({ at: context.kernel.elapsed, plural, stream, nth });
    new OpenWatch(context, process, server, name, watch, body, fault, onEvent).start(signal);
    return { status: 200, headers: server.date, body };
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    body.push(Buffer.from(JSON.stringify(error.body)));
    body.end();
    return { status: error.status, headers: error.headers, body };
  }
}

class OpenWatch {
  readonly #context: NetworkContext;
  readonly #process: SimProcess;
  readonly #server: ApiServer;
  readonly #name: string;
  readonly #watch: Watch;
  readonly #body: ByteStream;
  readonly #fault: WatchFault | undefined;
  readonly #onEvent: (nth: number) => void;
  readonly #cleanUps: (() => void)[] = [];
  readonly #underWay: (() => void)[] = [];
  #isFrozen: boolean;
  #events = 0;
  #sent = 0;
  #lastArrival = 0;

  constructor(
    context: NetworkContext,
    process: SimProcess,
    server: ApiServer,
    name: string,
    watch: Watch,
    body: ByteStream,
    fault: WatchFault | undefined,
    onEvent: (nth: number) => void,
  ) {
    this.#context = context;
    this.#process = process;
    this.#server = server;
    this.#name = name;
    this.#watch = watch;
    this.#body = body;
    this.#fault = fault;
    this.#onEvent = onEvent;
    this.#isFrozen = fault?.kind === "Frozen" && fault.nth === 0;
  }

  start(signal: AbortSignal): void {
    if (this.#fault?.kind === "Expired") {
      this.#send(errorEvent(expired("too old resource version: injected")));
      this.#later(0, () => this.#body.end());
      return;
    }
    for (const event of this.#watch.first) this.#send(event);
    for (const event of this.#watch.missed) this.#catchUpWith(event);
    if (this.#watch.first.some(({ type }) => type === "ERROR")) {
      this.#later(0, () => this.#body.end());
      return;
    }
    const stop = this.#server.storage.subscribe((change) => {
      const event = this.#watch.translate(change);
      if (event !== undefined) this.#onChange(event);
    });
    this.#cleanUps.push(
      stop,
      this.#server.storage.onRestore(() => this.#tear()),
      this.#context.kernel.schedule(this.#watch.timeoutMs, () => this.#end()),
    );
    this.#bookmarkLater();
    const onAbort = () => {
      this.#close();
      this.#body.fail(new HttpError("aborted", "simulated: aborted"));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
  }

  #onChange(event: WatchEvent): void {
    this.#events += 1;
    this.#onEvent(this.#events);
    const fault = this.#fault;
    const isIt = fault !== undefined && "nth" in fault && fault.nth === this.#events;
    const struck = isIt ? fault : undefined;
    switch (struck?.kind) {
      case "Torn":
        this.#tear();
        return;
      case "Dropped":
        return;
      case "Garbled":
        this.#sendBytes(Buffer.from(struck.text));
        if (struck.ends) this.#end();
        return;
      case "Frozen":
        this.#isFrozen = true;
        return;
      case "Doubled":
        this.#send(event);
        this.#send(event);
        return;
      default:
        this.#send(event);
    }
  }

  #tear(): void {
    this.#close();
    this.#later(0, () => this.#body.fail(new HttpError("network", "simulated: reset")));
  }

  /** What a server that is behind has yet to tell. */
  #catchUpWith(event: WatchEvent): void {
    const line = toLine(event);
    this.#later(this.#fault?.kind === "Stale" ? this.#fault.ms : 0, () => this.#body.push(line));
  }

  /** At once where nothing is under way: most of what happens in a quiet world are bookmarks. */
  #sendBookmark(): void {
    const event = this.#watch.bookmark();
    if (event === undefined) return;
    if (this.#isFrozen || this.#underWay.length > 0) this.#send(event);
    else this.#process.deliver(() => this.#body.push(toLine(event)));
  }

  #send(event: WatchEvent): void {
    this.#sendBytes(toLine(event));
  }

  #sendBytes(bytes: Uint8Array): void {
    // A frozen stream stays open and says nothing, bookmarks neither.
    if (this.#isFrozen) return;
    this.#later(this.#fault?.kind === "Late" ? this.#fault.ms : 0, () => this.#body.push(bytes));
  }

  /** Nothing overtakes anything: whatever event comes first delivers what was sent first. */
  #later(extraMs: number, run: () => void): void {
    const { kernel } = this.#context;
    const arrival = Math.max(this.#lastArrival, kernel.elapsed + extraMs + latency(this.#context));
    this.#lastArrival = arrival;
    this.#underWay.push(run);
    this.#sent += 1;
    const index = this.#sent;
    kernel.schedule(
      arrival - kernel.elapsed,
      () => this.#arrive(),
      () => this.#label(index),
    );
  }

  #arrive(): void {
    const next = this.#underWay.shift();
    if (!this.#process.alive) this.#close();
    else if (next !== undefined) this.#process.deliver(next);
  }

  #label(index: number): Label {
    const stream = { name: this.#name, index };
    return {
      to: this.#process.name,
      name: `event ${index} of ${this.#name}`,
      isRead: false,
      stream,
    };
  }

  #bookmarkLater(): void {
    const cancel = this.#context.kernel.schedule(BOOKMARK_MS, () => {
      if (!this.#process.alive) return this.#close();
      this.#sendBookmark();
      this.#bookmarkLater();
    });
    this.#cleanUps.push(cancel);
  }

  #end(): void {
    this.#close();
    if (!this.#isFrozen) this.#later(0, () => this.#body.end());
  }

  #close(): void {
    for (const cleanUp of this.#cleanUps.splice(0)) cleanUp();
  }
}

function latency({ kernel }: NetworkContext): number {
  const [least, most] = WATCH_LATENCY_MS;
  return least + kernel.random.fraction() * (most - least);
}
