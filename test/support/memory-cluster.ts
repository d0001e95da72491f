/**
 * A cluster in memory: the API server that all tests share, and the operator's own client and caches for it. What a
 * controller's test says about its world goes through here; nothing in it waits.
 */
import { Registry } from "prom-client";
import { FIELD_MANAGER } from "../../src/api/meta.ts";
import { type ClusterCache, createClusterCache } from "../../src/app/caches.ts";
import type { HttpRequest, HttpResponse, SendHttp } from "../../src/http/http.ts";
import { type AnyKind, kinds as allKinds } from "../../src/kinds/kinds.ts";
import { apiVersionOf, collectionPath, objectPath } from "../../src/kube/client/api-path.ts";
import type { KubeClient } from "../../src/kube/client/client.ts";
import { createKubeClient } from "../../src/kube/client/http-kube-client.ts";
import { trackWrites } from "../../src/kube/client/tracked-client.ts";
import {
  asRead,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type ResourceType,
} from "../../src/kube/resource.ts";
import type { WritableStore } from "../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import type { Caches } from "../../src/reconciler/context.ts";
import { namespaceType } from "../../src/resources/resource-types.ts";
import { silentLog } from "../../src/util/log.ts";
import { systemRandom } from "../../src/util/random.ts";
import { type Clock, systemClock } from "../../src/util/time.ts";
import { refusal } from "../../tools/api-server/failure.ts";
import { readCustomKinds, type ServedKind } from "../../tools/api-server/kinds.ts";
import type { ApiRequest, Verb } from "../../tools/api-server/request.ts";
import { ApiServer, answered } from "../../tools/api-server/server.ts";
import type { Change } from "../../tools/api-server/storage.ts";
import type { Written } from "../../tools/api-server/writes.ts";
import type { Refusal } from "../../tools/server-fault.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

/** A call of the operator that changes something, or would if it were no dry run. */
export interface Write {
  readonly verb: Exclude<Verb, "get" | "list" | "watch">;
  readonly plural: string;
  readonly name: string;
  readonly status: boolean;
  readonly dryRun: boolean;
  readonly body: Raw;
}

const BASE_URL = "http://kube";
const READS: readonly Verb[] = ["get", "list", "watch"];
interface MemoryClusterOptions {
  readonly kinds?: readonly AnyKind[];
  readonly served?: readonly ServedKind[];
}

export class MemoryCluster {
  readonly server: ApiServer;
  /** The operator's. */
  readonly client: KubeClient;
  /** What the operator wrote: no dry run, and nothing that was refused. */
  readonly writes: Write[] = [];
  /** How often the operator has read. */
  reads = 0;
  /** While false, caches do not hear of changes. */
  watching = true;
  /** The fault that strikes a write. */
  strike: (write: Write) => Refusal | undefined = () => undefined;
  #made = 0;
  #cache: ClusterCache | undefined;
  /** Ends the watches of the latest caches. */
  readonly #endWatches: (() => void)[] = [];

  readonly #kinds: readonly AnyKind[];

  /** `served` are the custom resources of its API server: those of the CRDs by default. */
  constructor(
    clock: Clock,
    { kinds = allKinds, served = readCustomKinds() }: MemoryClusterOptions = {},
  ) {
    this.#kinds = kinds;
    const newUid = () => this.#newUid();
    this.server = new ApiServer({ now: () => clock.now(), newUid, kinds: served });
    const send: SendHttp = async (request) => this.#answer(request);
    const api = { baseURL: BASE_URL, send, clock, userAgent: "test" };
    this.client = trackWrites(createKubeClient({ ...api, fieldManager: FIELD_MANAGER }), (type) =>
      this.#cache?.trackerOf(type),
    );
  }

  /**
   * Caches as of a new process, which from now on hear of every change, as earlier ones no longer do; those of
   * `unsynced` never begin. Secrets are not watched, as without permission.
   */
  openCaches(unsynced: readonly ResourceType[] = []): Caches {
    for (const end of this.#endWatches.splice(0)) end();
    this.#cache = emptyCache(this.#kinds);
    for (const { type, store } of this.#cache.types)
      if (!unsynced.includes(type)) this.#follow(type, store);
    return this.#cache.caches;
  }

  /**
   * As a user would create or replace it, its namespace before it, its status after it; and deletes it where it has a
   * deletionTimestamp. Throws what is refused.
   */
  put(type: ResourceType, object: Raw): void {
    const key = keyOf(object);
    this.#ensureNamespace(type, key);
    const { status, ...rest } = object;
    const { deletionTimestamp, ...metadata } = object.metadata;
    const body = { ...rest, metadata };
    const isThere = this.peek(type, key) !== undefined;
    const stored = isThere
      ? this.#call("PUT", objectPath(type, key), this.#replacing(type, key, body))
      : this.#call("POST", collectionPath(type, key.namespace), typed(type, body));
    if ("status" in object)
      this.#call("PUT", `${objectPath(type, key)}/status`, { ...stored, status });
    const isMarked = stored.metadata.deletionTimestamp !== undefined;
    if (deletionTimestamp !== undefined && !isMarked) this.remove(type, key);
  }

  peek(type: ResourceType, { namespace = "", name }: Partial<ObjectKey>): Raw {
    const kind = this.#kindOf(type);
    return this.server.storage.get(kind, namespace, name ?? "")?.object;
  }

  all(type: ResourceType): readonly Raw[] {
    return this.server.storage.list(this.#kindOf(type)).map(({ object }) => object);
  }

  /** As `kubectl edit` does. */
  edit(type: ResourceType, key: ObjectKey, change: (object: Raw) => void): void {
    const object = structuredClone(this.peek(type, key));
    if (object === undefined) return;
    change(object);
    const { status = undefined } = object;
    this.put(type, this.#kindOf(type).hasStatus ? { ...object, status } : object);
  }

  /** As `kubectl delete` does: with finalizers only marked. */
  remove(type: ResourceType, key: ObjectKey): void {
    this.#call("DELETE", objectPath(type, key));
  }

  #ensureNamespace({ namespaced }: ResourceType, { namespace }: ObjectKey): void {
    if (namespaced && this.peek(namespaceType, { name: namespace }) === undefined)
      this.put(namespaceType, { metadata: { name: namespace } });
  }

  #replacing(type: ResourceType, key: ObjectKey, body: Raw): Raw {
    const { uid, resourceVersion } = this.peek(type, key).metadata;
    return typed(type, { ...body, metadata: { ...body.metadata, uid, resourceVersion } });
  }

  #call(method: string, path: string, body?: Raw): Raw {
    const answer = this.server.handle({
      method,
      url: `${BASE_URL}${path}?fieldManager=user`,
      headers: { "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** One of the operator's calls. */
  #answer(request: HttpRequest): HttpResponse {
    const { status, headers, body } = answered(() => this.#carryOut(request));
    return { status, headers, body: Buffer.from(JSON.stringify(body)) };
  }

  #carryOut({ method, url, headers, body }: HttpRequest): Written {
    const raw = { method, url, headers, ...(body === undefined ? {} : { body }) };
    const request = this.server.parse(raw);
    if (READS.includes(request.verb)) {
      this.reads += 1;
      return this.server.carryOut(request);
    }
    const { verb, kind, status, dryRun } = request as ApiRequest & Write;
    const name = request.name ?? (request.body as Raw)?.metadata?.name;
    const write = { verb, plural: kind.type.plural, name, status, dryRun, body: request.body };
    const fault = this.strike(write);
    if (fault !== undefined) throw refusal(fault);
    const written = this.server.carryOut(request);
    if (!dryRun) this.writes.push(write);
    return written;
  }

  #follow(type: ResourceType, store: WritableStore<KubeObject>): void {
    const { storage } = this.server;
    const writer = store.openScope("");
    const list = () =>
      writer.beginReplace()(
        this.all(type).map((object) => asRead(type, object)),
        String(storage.revision),
      );
    const hear = ({ kind, type: what, object, revision }: Change) => {
      if (!this.watching) return;
      if (kind.type.kind !== type.kind) writer.advance(String(revision));
      else if (what === "DELETED") writer.remove(asRead(type, object as Raw));
      else writer.put(asRead(type, object as Raw));
    };
    list();
    this.#endWatches.push(storage.subscribe(hear), storage.onRestore(list));
  }

  #kindOf({ group, plural }: ResourceType): ServedKind {
    return this.server.kindOf(group, plural);
  }

  /** Numbers, since random ones would move what is spread by them. */
  #newUid(): string {
    this.#made += 1;
    return `uid-${this.#made}`;
  }
}

/** Indexed as the operator's own, but not filled yet. */
export function emptyCache(kinds: readonly AnyKind[]): ClusterCache {
  const unused = () => Promise.reject(new Error("filled without a watch"));
  const api = { baseURL: BASE_URL, openStream: unused, send: unused, clock: systemClock };
  return createClusterCache({
    kinds,
    api: { ...api, userAgent: "test" },
    namespaces: [],
    clusterScoped: true,
    selector: "",
    watchSecrets: "false",
    random: systemRandom,
    log: silentLog,
    metrics: createMetrics(new Registry()),
  });
}

function typed(type: ResourceType, body: Raw): Raw {
  return { ...body, apiVersion: apiVersionOf(type), kind: type.kind };
}
