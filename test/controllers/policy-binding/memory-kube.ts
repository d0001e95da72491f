/** Just enough of an API server to watch what the reconcilers write; integration tests use a real one. */
import { BINDINGS_FIELD_MANAGER } from "../../../src/api/meta.ts";
import type { ApplyOptions, KubeClient, ListOptions } from "../../../src/kube/client/client.ts";
import { KubeError } from "../../../src/kube/errors.ts";
import {
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type ResourceType,
} from "../../../src/kube/resource.ts";
import { createStore, type StoreWriter } from "../../../src/kube/store/memory-store.ts";
import type { IndexFunction } from "../../../src/kube/store/store-index.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

export interface Write {
  readonly verb: "apply" | "mergePatch";
  readonly plural: string;
  readonly name: string;
  readonly body: Raw;
}

export class MemoryKube {
  readonly writes: Write[] = [];
  /** Called before a write takes effect; throw to refuse it or to crash. */
  beforeWrite: (write: Write) => void = () => undefined;
  /** While false, the caches do not hear of changes. */
  watching = true;
  reads = 0;
  readonly #objects = new Map<string, Raw>();
  readonly #writers = new Map<string, StoreWriter<Raw>>();
  #version = 100;

  /** A store of one kind, filled with what is there and kept up to date. */
  store<T extends KubeObject>(
    type: ResourceType<T>,
    indexes: Readonly<Record<string, IndexFunction<T>>> = {},
    synced = true,
  ) {
    const store = createStore<T>({
      indexes,
      onListenerError: (error) => {
        throw error;
      },
    });
    const writer = store.openScope("");
    if (synced) {
      writer.beginReplace()([], String(this.#version));
      this.#writers.set(type.plural, writer);
    }
    return store;
  }

  /** As a user would create or change it; bumps the generation where the spec differs. */
  put(type: ResourceType, object: Raw): Raw {
    const old = this.#objects.get(idOf(type, keyOf(object)));
    const changed = JSON.stringify(old?.spec) !== JSON.stringify(object.spec);
    const generation = (old?.metadata.generation ?? 0) + (changed ? 1 : 0);
    return this.#save(type, {
      ...object,
      metadata: { uid: `${object.metadata.name}-uid`, ...object.metadata, generation },
    });
  }

  peek(type: ResourceType, key: ObjectKey): Raw {
    return this.#objects.get(idOf(type, key));
  }

  /** As `kubectl delete` does: with finalizers only marked. */
  remove(type: ResourceType, key: ObjectKey, now = "2026-01-01T00:00:00Z"): void {
    const object = this.peek(type, key);
    this.#save(type, {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: now },
    });
  }

  readonly client: KubeClient = {
    get: async <T extends KubeObject>(type: ResourceType<T>, key: ObjectKey) => {
      this.reads += 1;
      return this.peek(type, key) as T | undefined;
    },
    list: async <T extends KubeObject>(type: ResourceType<T>, options: ListOptions = {}) => {
      this.reads += 1;
      const name = options.fieldSelector?.replace("spec.serviceAccountRef.name=", "");
      return [...this.#objects]
        .filter(([id]) => id.startsWith(`${type.plural} ${options.namespace ?? ""}`))
        .map(([, object]) => object)
        .filter((object) => name === undefined || object.spec.serviceAccountRef.name === name);
    },
    apply: async <T extends KubeObject>(
      type: ResourceType<T>,
      object: KubeObject & object,
      options: ApplyOptions = {},
    ) => {
      const old = this.#existing(type, object);
      this.#note({ verb: "apply", plural: type.plural, name: old.metadata.name, body: object });
      const { status } = object as Raw;
      const { bindings, ...rest } = old.status ?? {};
      const next =
        options.fieldManager === BINDINGS_FIELD_MANAGER
          ? { ...rest, ...status }
          : { ...status, ...(bindings === undefined ? {} : { bindings }) };
      return this.#save(type, { ...old, status: next }) as T;
    },
    mergePatch: async <T extends KubeObject>(type: ResourceType<T>, key: ObjectKey, patch: Raw) => {
      const old = this.#existing(type, { metadata: { ...key, ...patch.metadata } });
      this.#note({ verb: "mergePatch", plural: type.plural, name: key.name, body: patch });
      if (patch.metadata.resourceVersion !== old.metadata.resourceVersion) {
        throw new KubeError("Conflict", "changed meanwhile");
      }
      const { finalizers } = patch.metadata;
      return this.#save(type, { ...old, metadata: { ...old.metadata, finalizers } }) as T;
    },
    collect: () => Promise.reject(new Error("not used")),
    create: () => Promise.reject(new Error("not used")),
    replace: () => Promise.reject(new Error("not used")),
    delete: () => Promise.reject(new Error("not used")),
  };

  #existing(type: ResourceType, { metadata }: KubeObject): Raw {
    const old = this.peek(type, keyOf({ metadata }));
    if (old === undefined || old.metadata.uid !== metadata.uid) {
      throw new KubeError("NotFound", "no such object");
    }
    return old;
  }

  #note(write: Write): void {
    this.beforeWrite(write);
    this.writes.push(write);
  }

  #save(type: ResourceType, object: Raw): Raw {
    this.#version += 1;
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) };
    const saved = structuredClone({ ...object, metadata });
    const id = idOf(type, keyOf(saved));
    const gone = metadata.deletionTimestamp !== undefined && !metadata.finalizers?.length;
    if (gone) this.#objects.delete(id);
    else this.#objects.set(id, saved);
    if (this.watching) this.#tell(type.plural, saved, gone);
    return structuredClone(saved);
  }

  #tell(plural: string, object: Raw, gone: boolean): void {
    const writer = this.#writers.get(plural);
    if (gone) writer?.remove(object);
    else writer?.put(object);
    for (const each of this.#writers.values()) each.advance(String(this.#version));
  }
}

function idOf({ plural }: ResourceType, key: ObjectKey): string {
  return `${plural} ${keyText(key)}`;
}
