/**
 * The whole ApiKey controller in a world of plain data: a store of objects, a console of keys, a clock. Every
 * call can be the last one of the process or lose its answer; after every change the invariants are checked.
 */
import { Registry } from "prom-client";
import type { ApiKey } from "../../../../src/api/api-key.ts";
import { API_VERSION, annotations } from "../../../../src/api/meta.ts";
import { createApiKeyController } from "../../../../src/controllers/api-key/controller.ts";
import { viewSecret } from "../../../../src/controllers/api-key/secret/view.ts";
import {
  type Context,
  indexes,
  unwatchedSecrets,
} from "../../../../src/controllers/frame/context.ts";
import type { Secret } from "../../../../src/controllers/resource-types.ts";
import type { IamClient } from "../../../../src/iam/client/client.ts";
import { IamError, type IamErrorCode } from "../../../../src/iam/errors.ts";
import type { KubeClient } from "../../../../src/kube/client/client.ts";
import { KubeError } from "../../../../src/kube/errors.ts";
import { createStore } from "../../../../src/kube/store/memory-store.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { Redacted } from "../../../../src/util/redacted.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { connectionSpec } from "../connection/specs.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

export type Fault = "crash before" | "crash after" | "lost before" | "lost after" | "refused";

export interface ConsoleKey {
  readonly keyId: string;
  readonly secret: string;
  readonly description: string;
  state: "Live" | "Disabled" | "Deleted";
}

class Crash extends Error {}

const NAMESPACE = "team-a";
const SPEC = { serviceAccountRef: { name: "bot" } };

export class KeyWorld {
  readonly clock = createFakeClock(Date.UTC(2026, 0, 1));
  readonly keys: ConsoleKey[] = [];
  readonly events: string[] = [];
  /** Names of changing calls, in order. */
  readonly calls: string[] = [];
  readonly violations: string[] = [];
  /** What happens to the call of that number. */
  fault: (call: number, name: string) => Fault | undefined = () => undefined;
  /** Whether the console accepts a key. */
  accepts: (key: ConsoleKey) => boolean = ({ state }) => state === "Live";
  consoleIsDown = false;
  /** Whether the console's list of keys is always empty. */
  listsNoKeys = false;
  /** Whether the API server forbids new Secrets, as without rights or quota. */
  forbidsSecrets = false;
  extra: { disableKey?: boolean; deleteKey?: boolean } = {};
  /** Told of each key that the console is about to end. */
  ending: (keyId: string) => void = () => undefined;
  /** What a refused call of these answers. */
  extraRefusal: IamErrorCode = "PermissionDenied";
  crashes = 0;
  lost = 0;
  /** The objects that were to be looked at now, each as often as that was said. */
  readonly woken: string[] = [];
  readonly #objects = new Map<string, Raw>();
  readonly #touched = new Set<string>();
  #version = 100;
  #alive = true;
  #calls = 0;
  #ids = 0;
  #store = createStore<ApiKey>({ indexes: {}, onListenerError: () => undefined });
  #writer = this.#store.openScope("");
  #metrics = createMetrics(new Registry());
  #controller: ReturnType<typeof createApiKeyController>;
  readonly #held = new Map<string, string>();

  constructor() {
    this.#controller = this.#start();
    this.restart();
  }

  get controller() {
    return this.#controller;
  }

  apiKey(name = "ci", spec: object = {}): void {
    this.#save("apikeys", {
      apiVersion: API_VERSION,
      kind: "ApiKey",
      metadata: { namespace: NAMESPACE, name, uid: `${name}-uid`, generation: 1, finalizers: [] },
      spec: { ...SPEC, ...spec },
    });
  }

  status(name = "ci"): Raw {
    return this.#objects.get(`apikeys ${name}`)?.status;
  }
  exists(name = "ci"): boolean {
    return this.#objects.has(`apikeys ${name}`);
  }
  condition(type: string, name = "ci"): Raw {
    return this.status(name)?.conditions?.find((each: Raw) => each.type === type);
  }
  secret(name = "ci"): Secret | undefined {
    return this.#objects.get(`secrets ${name}`);
  }
  entry(entry: string, name = "ci"): string | undefined {
    const text = this.secret(name)?.data?.[entry];
    return text === undefined ? undefined : Buffer.from(text, "base64").toString();
  }
  get writes(): number {
    return this.calls.length;
  }
  posts(): number {
    return this.calls.filter((name) => name === "issueKey").length;
  }

  /** As a person with kubectl would. */
  edit(kind: "apikeys" | "secrets", name: string, change: (object: Raw) => void): void {
    const object = structuredClone(this.#objects.get(`${kind} ${name}`));
    if (object === undefined) return;
    change(object);
    if (kind === "secrets") this.#touched.add(name);
    this.#save(kind, object);
  }
  rotate(token: string, name = "ci"): void {
    this.edit("apikeys", name, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [annotations.rotateRequestedAt]: token };
    });
  }
  remove(name = "ci"): void {
    this.edit("apikeys", name, ({ metadata }) => {
      metadata.deletionTimestamp = new Date(this.clock.now()).toISOString();
    });
    if (!this.exists(name)) this.#controller.onGone({ namespace: NAMESPACE, name });
  }
  deleteSecret(name = "ci"): void {
    this.#touched.delete(name);
    this.#objects.delete(`secrets ${name}`);
  }
  putSecret(secret: Raw): void {
    this.#touched.add(secret.metadata.name);
    this.#save("secrets", { apiVersion: "v1", kind: "Secret", type: "Opaque", ...secret });
  }

  /** Takes a backup; the answered function sets the API server back to it, Secrets included unless told otherwise. */
  backUp({ secrets = true } = {}): () => void {
    const saved = structuredClone([...this.#objects]);
    const version = this.#version;
    return () => {
      const kept = secrets ? [] : [...this.#objects].filter(([id]) => id.startsWith("secrets "));
      this.#objects.clear();
      for (const [id, object] of [...saved, ...kept]) this.#objects.set(id, object);
      this.#version = version;
    };
  }

  restart(): void {
    this.#alive = true;
    this.#store = createStore<ApiKey>({
      indexes: {
        [indexes.serviceAccount]: ({ metadata, spec }) => [
          `${metadata.namespace}/${spec.serviceAccountRef.name}`,
        ],
      },
      onListenerError: () => undefined,
    });
    this.#writer = this.#store.openScope("");
    this.#controller = this.#start();
  }

  /** One pass; answers when to look again, or the failure. */
  async pass(name = "ci"): Promise<number | Error> {
    const object = this.#objects.get(`apikeys ${name}`);
    if (object === undefined) return Number.POSITIVE_INFINITY;
    const all = [...this.#objects].filter(([id]) => id.startsWith("apikeys "));
    this.#writer.beginReplace()(
      all.map(([, each]) => structuredClone(each)),
      String(this.#version),
    );
    try {
      const signal = new AbortController().signal;
      const result = await this.#controller.reconcile(structuredClone(object), { id: "t", signal });
      return result.requeueAfterMs ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!this.#alive) this.restart();
      return error as Error;
    }
  }

  /** Passes until nothing is due soon; answers how many there were. */
  async settle(names: readonly string[] = ["ci"], limit = 400): Promise<number> {
    for (let count = 1; count <= limit; count += 1) {
      const waits: number[] = [];
      for (const name of names) {
        const result = await this.pass(name);
        waits.push(result instanceof Error ? 5_000 : result);
      }
      const wait = Math.min(...waits);
      if (wait > 4 * MINUTE) return count;
      await this.clock.advance(Math.max(wait, 10));
    }
    throw new Error(`does not come to rest: ${this.calls.slice(-12).join(" ")}`);
  }

  /** Whether consumers of the Secret have a key that works. */
  holdsLivePair(name = "ci"): boolean {
    const { keyId, secret } = {
      keyId: this.entry("keyId", name),
      secret: this.entry("secret", name),
    };
    return this.keys.some(
      (key) => key.keyId === keyId && key.secret === secret && key.state === "Live",
    );
  }

  /** S5: every key at the console that bears the object's name is in its status. */
  unaccounted(name = "ci"): readonly string[] {
    const { current, superseded = [], orphaned = [] } = this.status(name) ?? {};
    const listed = [current, ...superseded, ...orphaned].map((key) => key?.keyId);
    return this.keys
      .filter(({ description }) => description.includes(`${NAMESPACE}/${name}#`))
      .map(({ keyId }) => keyId)
      .filter((keyId) => !listed.includes(keyId));
  }

  /** The value of a gauge of the key. */
  async gauge(name: string): Promise<number | undefined> {
    const metric = await this.#metrics.registry.getSingleMetric(name)?.get();
    return metric?.values[0]?.value;
  }

  #start() {
    this.#metrics = createMetrics(new Registry());
    const context: Context = {
      kube: this.#kube(),
      caches: {
        apiKeys: this.#store,
        serviceAccounts: { get: () => serviceAccount },
        secrets: unwatchedSecrets,
      } as unknown as Context["caches"],
      connections: {
        resolve: async () => ({
          ok: true,
          access: {
            client: this.#console(),
            spec: connectionSpec(),
            grant: { policyIds: ["*"], importServiceAccounts: true, maxExpiresInDays: 3_650 },
          } as never,
        }),
      },
      events: { record: (_, { reason, note }) => void this.events.push(`${reason}: ${note}`) },
      metrics: this.#metrics,
      log: silentLog,
      clock: this.clock,
      random: {
        fraction: () => 0.5,
        id: () => {
          this.#ids += 1;
          return `attempt${this.#ids}`;
        },
      },
    };
    return createApiKeyController(context, { enqueue: (key) => void this.woken.push(key) });
  }

  /** Carries a call out, or does not, as the fault of its number says. */
  async #call<T>(name: string, effect: () => T, refusal: Error, changes = true): Promise<T> {
    if (!this.#alive) throw new Crash("dead");
    if (!changes) return effect();
    this.#calls += 1;
    const fault = this.fault(this.#calls, name);
    if (fault === "refused") throw refusal;
    if (fault === "crash before") this.#crash();
    if (fault === "lost before") throw this.#unanswered(name);
    const answer = effect();
    this.calls.push(name);
    this.#check();
    if (fault === "crash after") this.#crash();
    if (fault === "lost after") throw this.#unanswered(name);
    return answer;
  }

  #crash(): never {
    this.crashes += 1;
    this.#alive = false;
    throw new Crash("the process has died");
  }

  #unanswered(name: string): Error {
    if (name === "issueKey") {
      this.lost += 1;
      return new IamError("Timeout", "no answer", { operation: "issueKey" });
    }
    return new KubeError("Timeout", "no answer");
  }

  #kube(): KubeClient {
    const refusal = new KubeError("Forbidden", "not allowed");
    const get = async (type: Raw, { name }: Raw) => {
      if (!this.#alive) throw new Crash("dead");
      return structuredClone(this.#objects.get(`${type.plural} ${name}`));
    };
    return {
      get: get as KubeClient["get"],
      create: ((type: Raw, object: Raw, { dryRun = false } = {}) =>
        this.#call(
          `create ${type.plural}`,
          () => {
            if (this.forbidsSecrets) throw refusal;
            if (this.#objects.has(`${type.plural} ${object.metadata.name}`))
              throw new KubeError("AlreadyExists", "exists");
            const metadata = { uid: `uid-${this.#version}`, ...object.metadata };
            return dryRun ? object : this.#save(type.plural, { ...object, metadata });
          },
          refusal,
          !dryRun,
        )) as KubeClient["create"],
      apply: ((type: Raw, object: Raw) =>
        this.#call(
          `status ${type.plural}`,
          () => {
            const old = this.#existing(type, object.metadata);
            this.#checkStatus(old, object.status);
            return this.#save(type.plural, { ...old, status: object.status });
          },
          refusal,
        )) as KubeClient["apply"],
      mergePatch: ((type: Raw, { name }: Raw, patch: Raw, { dryRun = false } = {}) =>
        this.#call(
          `patch ${type.plural}`,
          () => {
            const old = this.#existing(type, { name, ...patch.metadata });
            if (old.immutable) throw new KubeError("Invalid", "field is immutable");
            if (type.plural === "secrets" && !dryRun) this.#touched.delete(name);
            return dryRun ? old : this.#save(type.plural, merged(old, patch));
          },
          refusal,
          !dryRun,
        )) as KubeClient["mergePatch"],
      delete: (type, { name }, conditions) =>
        this.#call(
          `delete ${type.plural}`,
          () => {
            this.#existing(type, { name, ...conditions });
            this.#objects.delete(`${type.plural} ${name}`);
          },
          refusal,
        ),
      list: () => Promise.reject(new Error("not used")),
      collect: () => Promise.reject(new Error("not used")),
      replace: () => Promise.reject(new Error("not used")),
    };
  }

  #console(): IamClient {
    const operation = "issueKey";
    const down = () => new IamError("Unavailable", "502", { operation });
    const end = (keyId: string, state: "Disabled" | "Deleted") => {
      if (this.consoleIsDown) throw down();
      this.ending(keyId);
      for (const key of this.keys) if (key.keyId === keyId) key.state = state;
    };
    const refused = () => new IamError(this.extraRefusal, "no", { operation });
    const ready = async () => {
      if (!this.#alive) throw new Crash("dead");
      if (this.consoleIsDown) throw down();
    };
    return {
      getServiceAccount: async (saId: string) => {
        await ready();
        const live = this.keys.filter(({ state }) => state === "Live" && !this.listsNoKeys);
        return { saId, keyIds: live.map(({ keyId }) => keyId) };
      },
      issueKey: (_: string, { description }: { description: string }) =>
        this.#call(
          "issueKey",
          () => {
            if (this.consoleIsDown) throw down();
            this.#checkIntent(description);
            const number = this.keys.length + 1;
            const secret = `s${number}`.repeat(43).slice(0, 43);
            this.keys.push({ keyId: `sak_${number}`, secret, description, state: "Live" });
            return { keyId: `sak_${number}`, secret: new Redacted(secret) };
          },
          new IamError("InvalidArgument", "422", { operation, status: 422 }),
        ),
      searchActions: async (_: unknown, pair: { keyId: string }) => {
        await ready();
        const key = this.keys.find(({ keyId }) => keyId === pair.keyId);
        if (key === undefined || !this.accepts(key))
          throw new IamError("Unauthenticated", "401", { operation: "searchActions", status: 401 });
        this.#held.set(key.keyId, "accepted");
        return [];
      },
      extra: {
        ...(this.extra.disableKey
          ? {
              disableKey: (_: string, id: string) =>
                this.#call("disableKey", () => end(id, "Disabled"), refused()),
            }
          : {}),
        ...(this.extra.deleteKey
          ? {
              deleteKey: (_: string, id: string) =>
                this.#call("deleteKey", () => end(id, "Deleted"), refused()),
            }
          : {}),
      },
    } as unknown as IamClient;
  }

  /** Preconditions as the API server checks them. */
  #existing({ plural }: Raw, { name, uid, resourceVersion }: Raw): Raw {
    const old = this.#objects.get(`${plural} ${name}`);
    if (old === undefined) throw new KubeError("NotFound", "no such object");
    if (uid !== undefined && uid !== old.metadata.uid) throw new KubeError("Conflict", "other uid");
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw new KubeError("Conflict", "changed");
    if (plural === "apikeys" && resourceVersion === undefined) this.#violated("S6", "no version");
    return old;
  }

  #save(plural: string, object: Raw): Raw {
    this.#version += 1;
    const metadata = {
      ...object.metadata,
      namespace: NAMESPACE,
      resourceVersion: `${this.#version}`,
    };
    const saved = structuredClone({ ...object, metadata });
    const gone = metadata.deletionTimestamp !== undefined && !metadata.finalizers?.length;
    const id = `${plural} ${metadata.name}`;
    if (gone) this.#objects.delete(id);
    else this.#objects.set(id, saved);
    return structuredClone(saved);
  }

  #violated(invariant: string, what: string): void {
    this.violations.push(`${invariant}: ${what} (call ${this.#calls})`);
  }

  /** S6: the intent is in the status before the call; one call an attempt. */
  #checkIntent(description: string): void {
    const [, name = "", id] = /k8s team-a\/([^#]+)#(\w+)/.exec(description) ?? [];
    if (this.status(name)?.attempt?.id !== id) this.#violated("S6", "issued without intent");
    if (this.keys.some((key) => key.description === description))
      this.#violated("S6", "issued twice for one attempt");
  }

  /** S7, S16: the status names a key only when the Secret holds it; revisions never fall. */
  #checkStatus({ metadata, status: old }: Raw, status: Raw): void {
    const { current } = status;
    const name = metadata.name;
    if (current !== undefined && current.keyId !== old?.current?.keyId) {
      const held = this.secret(name)?.metadata.annotations?.[annotations.keyId];
      if (held !== current.keyId) this.#violated("S7", `${current.keyId} is not in the Secret`);
      if (current.revision < (old?.current?.revision ?? 0)) this.#violated("S16", "revision fell");
    }
    if (old?.attempt !== undefined && status.attempt !== undefined)
      if (old.attempt.id !== status.attempt.id) this.#violated("S5", "an attempt was written over");
  }

  /** S1, S3, S9: an unedited Secret of ours holds a pair that was accepted before consumers got it. */
  #check(): void {
    for (const [id, secret] of this.#objects) {
      if (!id.startsWith("secrets ") || id.endsWith("-next")) continue;
      const name = secret.metadata.name;
      if (this.#touched.has(name)) continue;
      const key = this.keys.find(({ keyId }) => keyId === this.entry("keyId", name));
      if (key === undefined || key.secret !== this.entry("secret", name))
        this.#violated("S1", `Secret ${name} holds no pair`);
      else if (!this.#held.has(key.keyId)) this.#violated("S3", `${key.keyId} was never verified`);
      const view = viewSecret(secret, { namespace: NAMESPACE, name, uid: `${name}-uid` }, "target");
      if (view.kind === "Ours" && view.pair?.keyId !== key?.keyId)
        this.#violated("S1", `Secret ${name} cannot be read back`);
    }
  }
}

/** A key was rotated so long ago, and the console has calls to end the old one. */
export async function rotatedSince(ms: number): Promise<KeyWorld> {
  const world = new KeyWorld();
  world.extra = { disableKey: true, deleteKey: true };
  world.apiKey();
  await world.settle();
  world.rotate("now");
  await world.settle();
  await world.clock.advance(ms);
  return world;
}

const serviceAccount = {
  metadata: { name: "bot", namespace: NAMESPACE, uid: "sa-uid", resourceVersion: "1" },
  spec: { name: "bot" },
  status: {
    saId: "sa-1",
    tpn: "tpn:sa-1",
    state: "active",
    conditions: [
      { type: "Ready", status: "True", reason: "x", message: "", lastTransitionTime: "" },
    ],
  },
};

/** JSON merge patch, one level of maps below metadata and data as Secrets have them. */
function merged(old: Raw, patch: Raw): Raw {
  if (patch === null || typeof patch !== "object" || Array.isArray(patch)) return patch;
  const result = { ...old };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = merged(result[name], value);
  }
  return result;
}
