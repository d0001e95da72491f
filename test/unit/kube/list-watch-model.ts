/**
 * A collection at an imaginary API server, with history, compaction and faults: the far side of a reflector
 * in property tests. Everything runs on the spot, so runs are quick and can be replayed.
 */
import { HttpError, type OpenStream, type SendHttp } from "../../../src/http/http.ts";
import { bookmark, errorEvent, event, type Item, listOf, statusOf } from "./scripted-server.ts";

/** What may go wrong with a request or an open stream. */
export type Fault =
  | "reset"
  | "silence"
  | "gone"
  | "busy"
  | "garbage"
  | "truncated"
  | "replay"
  | "close"
  | "unauthorized";

interface Change {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly item: Required<Item>;
}

export class ListWatchModel {
  readonly items = new Map<string, Required<Item>>();
  /** Faults that wait for a request. */
  readonly pending: Fault[] = [];
  openStreams = 0;
  /** Requests so far. */
  streams = 0;
  calls = 0;
  #history: Change[] = [];
  #compactedTo = 0;
  #version = 1;
  #uids = 0;
  readonly #watchers = new Set<Watcher>();

  put(name: string): void {
    const known = this.items.get(name);
    this.#uids += known === undefined ? 1 : 0;
    const item = { name, version: this.#next(), uid: known?.uid ?? `uid-${this.#uids}` };
    this.items.set(name, item);
    this.#record({ type: known === undefined ? "ADDED" : "MODIFIED", item });
  }

  delete(name: string): void {
    const known = this.items.get(name);
    if (known === undefined) return;
    this.items.delete(name);
    this.#record({ type: "DELETED", item: { ...known, version: this.#next() } });
  }

  /** A time-out, a network failure or an answer of the wrong kind for whoever watches now. */
  disturb(fault: Fault): void {
    if (this.#watchers.size === 0) this.pending.push(fault);
    for (const watcher of this.#watchers) this.#spoil(watcher, fault);
  }

  bookmark(): void {
    for (const watcher of this.#watchers) watcher.push(bookmark(String(this.#version)));
  }

  compact(): void {
    this.#compactedTo = this.#version;
    this.#history = [];
  }

  /** A backup was brought back as etcd's manual says: with versions that lie beyond all known ones. */
  restore(steps: number): void {
    for (const [name, item] of this.items) {
      if (Number(item.version) > this.#version - steps) this.items.delete(name);
    }
    this.#version += 1_000;
    this.compact();
    for (const watcher of this.#watchers) watcher.fail(new HttpError("network", "it went away"));
  }

  /** Nothing goes wrong any more. */
  calm(): void {
    this.pending.length = 0;
  }

  readonly send: SendHttp = (request) => {
    this.calls += 1;
    const fault = this.pending.shift();
    const answer = (status: number, body: object) =>
      Promise.resolve({ status, headers: {}, body: Buffer.from(JSON.stringify(body)) });
    if (request.signal?.aborted) return Promise.reject(new HttpError("aborted", "aborted"));
    if (fault === "busy") return answer(429, statusOf(429, "TooManyRequests"));
    if (fault === "gone") return answer(410, statusOf(410, "Expired"));
    if (fault === "unauthorized") return answer(401, statusOf(401, "Unauthorized"));
    if (fault === "garbage") return answer(200, []);
    if (fault !== undefined) return Promise.reject(new HttpError("network", "cut off"));
    return answer(200, listOf(String(this.#version), [...this.items.values()]));
  };

  readonly openStream: OpenStream = (request) => {
    this.streams += 1;
    const fault = this.pending.shift();
    const query = new URL(request.url).searchParams;
    const version = query.get("resourceVersion");
    const watcher = new Watcher(request.signal, () => {
      this.openStreams -= 1;
      this.#watchers.delete(watcher);
    });
    if (fault === "reset") return Promise.reject(new HttpError("refused", "nobody there"));
    this.openStreams += 1;
    const body = watcher.chunks();
    const answer = (status: number) => Promise.resolve({ status, headers: {}, body });
    const refusal =
      refusalOf(fault) ?? (Number(version ?? Infinity) < this.#compactedTo ? 410 : undefined);
    if (refusal !== undefined) {
      watcher.push(JSON.stringify(statusOf(refusal, refusal === 410 ? "Expired" : "No")));
      watcher.end();
      return answer(refusal);
    }
    this.#watchers.add(watcher);
    if (version === null) this.#sendInitial(watcher);
    else this.#sendSince(watcher, Number(version));
    if (fault !== undefined) this.#spoil(watcher, fault);
    return answer(200);
  };

  #sendInitial(watcher: Watcher): void {
    for (const { name, version, uid } of this.items.values()) {
      watcher.push(event("ADDED", name, version, uid));
    }
    watcher.push(bookmark(String(this.#version), true));
  }

  #sendSince(watcher: Watcher, version: number): void {
    for (const change of this.#history) {
      if (Number(change.item.version) > version) watcher.push(lineOf(change));
    }
  }

  #record(change: Change): void {
    this.#history.push(change);
    for (const watcher of this.#watchers) watcher.push(lineOf(change));
  }

  #next(): string {
    this.#version += 1;
    return String(this.#version);
  }

  #spoil(watcher: Watcher, fault: Fault): void {
    if (fault === "gone") watcher.push(errorEvent(410, "Expired"));
    else if (fault === "garbage") watcher.push("garbage\n");
    else if (fault === "truncated") watcher.push('{"type":"ADD');
    else if (fault === "replay") for (const change of this.#history) watcher.push(lineOf(change));
    else if (fault === "silence") watcher.fall();
    else if (fault !== "close") watcher.fail(new HttpError("network", "reset"));
    if (fault === "close" || fault === "truncated") watcher.end();
  }
}

function refusalOf(fault: Fault | undefined): number | undefined {
  switch (fault) {
    case "busy":
      return 429;
    case "unauthorized":
      return 401;
    case "gone":
      return 410;
    default:
      return undefined;
  }
}

function lineOf({ type, item }: Change): string {
  return event(type, item.name, item.version, item.uid);
}

/** One open stream. */
class Watcher {
  readonly #signal: AbortSignal;
  readonly #onGone: () => void;
  readonly #queue: string[] = [];
  #wake: () => void = () => undefined;
  #end: Error | "ended" | undefined;
  #isSilent = false;

  constructor(signal: AbortSignal, onGone: () => void) {
    this.#signal = signal;
    this.#onGone = onGone;
    signal.addEventListener("abort", () => this.fail(new HttpError("aborted", "aborted")), {
      once: true,
    });
  }

  push(text: string): void {
    if (this.#isSilent || this.#end !== undefined) return;
    this.#queue.push(text);
    this.#wake();
  }

  end(): void {
    this.#end ??= "ended";
    this.#wake();
  }

  fail(error: Error): void {
    this.#end = error;
    this.#wake();
  }

  /** The connection is dead, and nobody says so. */
  fall(): void {
    this.#isSilent = true;
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        if (this.#signal.aborted) throw new HttpError("aborted", "aborted");
        const text = this.#queue.splice(0).join("");
        if (text !== "") yield Buffer.from(text);
        else if (this.#end === "ended") return;
        else if (this.#end !== undefined) throw this.#end;
        else await this.#woken();
      }
    } finally {
      this.#onGone();
    }
  }
}
