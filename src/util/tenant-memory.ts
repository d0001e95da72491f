import { keep } from "./kept.ts";

export interface TenantMemoryOptions {
  /** How much all namespaces may take together. */
  readonly totalBytes: number;
  /** How much one namespace may take. */
  readonly namespaceBytes: number;
  /** A value of the namespace was not kept, or is not kept any more. */
  readonly onOmitted: (namespace: string) => void;
}

const MIB = 2 ** 20;
const DEFAULTS: TenantMemoryOptions = {
  totalBytes: 16 * MIB,
  namespaceBytes: MIB,
  onOmitted: () => undefined,
};

interface Entry {
  readonly namespace: string;
  readonly bytes: number;
  /** Removes the entry from its values. */
  readonly drop: () => void;
}

interface Use {
  bytes: number;
  /** Oldest first. */
  readonly entries: Set<Entry>;
}

/**
 * What the process keeps about tenants' objects and about the answers of their consoles, beside the caches. A namespace
 * has a budget, whatever it sends; if all budgets together are used up, the namespace that uses most gives way. What
 * does not fit is not kept: that costs calls, and nothing depends on it.
 */
export class TenantMemory {
  readonly #options: TenantMemoryOptions;
  readonly #uses = new Map<string, Use>();
  #bytes = 0;

  constructor(options: Partial<TenantMemoryOptions> = {}) {
    this.#options = { ...DEFAULTS, ...options };
  }

  /** Bytes in use. */
  get bytes(): number {
    return this.#bytes;
  }

  /** A place for values of one type, by key. */
  open<Value>(): TenantValues<Value> {
    return new TenantValues(this);
  }

  /** Whether the entry may be kept; makes room for it if its namespace uses less than others. */
  add(entry: Entry): boolean {
    const use = this.#uses.get(entry.namespace) ?? { bytes: 0, entries: new Set() };
    const bytes = use.bytes + entry.bytes;
    if (bytes > this.#options.namespaceBytes || !this.#makeRoom(bytes, entry.bytes)) {
      this.#options.onOmitted(entry.namespace);
      return false;
    }
    this.#bytes += entry.bytes;
    use.bytes = bytes;
    use.entries.add(entry);
    this.#uses.set(entry.namespace, use);
    return true;
  }

  remove(entry: Entry): void {
    const use = this.#uses.get(entry.namespace);
    if (use?.entries.delete(entry) !== true) return;
    use.bytes -= entry.bytes;
    this.#bytes -= entry.bytes;
    if (use.entries.size === 0) this.#uses.delete(entry.namespace);
  }

  /** Drops the oldest entries of the largest namespaces until there is room, but none of a smaller namespace. */
  #makeRoom(bytesAfter: number, needed: number): boolean {
    while (this.#bytes + needed > this.#options.totalBytes) {
      const [namespace, largest] = this.#largest() ?? [];
      const [oldest] = largest?.entries ?? [];
      if (namespace === undefined || largest === undefined || oldest === undefined) return false;
      if (largest.bytes <= bytesAfter) return false;
      oldest.drop();
      this.#options.onOmitted(namespace);
    }
    return true;
  }

  #largest(): readonly [string, Use] | undefined {
    let largest: readonly [string, Use] | undefined;
    for (const each of this.#uses)
      if (largest === undefined || each[1].bytes > largest[1].bytes) largest = each;
    return largest;
  }
}

/** Values of one type. They are copies, so they hold no answer in memory. */
export class TenantValues<Value> {
  readonly #memory: Pick<TenantMemory, "add" | "remove">;
  readonly #entries = new Map<string, Entry & { readonly value: Value }>();

  constructor(memory: Pick<TenantMemory, "add" | "remove">) {
    this.#memory = memory;
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  /** If the value does not fit into the budget of the namespace, the key has no value afterwards. */
  set(key: string, namespace: string, value: Value): void {
    this.delete(key);
    const entry = { namespace, ...keep(value), drop: () => this.delete(key) };
    if (this.#memory.add(entry)) this.#entries.set(key, entry);
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#memory.remove(entry);
  }
}
