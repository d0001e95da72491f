/**
 * The whole ApiKey controller between an API server in memory, a console of plain data and a clock. Every call can be
 * the last one of the process or lose its answer; after every change the invariants are checked.
 */
import { Registry } from "prom-client";
import { annotations } from "../../../../src/api/meta.ts";
import { createApiKeyController } from "../../../../src/controllers/api-key/controller.ts";
import type { Caches, Context } from "../../../../src/controllers/frame/context.ts";
import {
  apiKeyType,
  type Secret,
  secretType,
  serviceAccountType,
} from "../../../../src/controllers/resource-types.ts";
import { HttpError } from "../../../../src/http/http.ts";
import { asRead } from "../../../../src/kube/resource.ts";
import { createMetrics, type Metrics } from "../../../../src/observability/metrics.ts";
import { silentLog } from "../../../../src/util/log.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { forbidden } from "../../../support/api-server/failure.ts";
import type { Written } from "../../../support/api-server/writes.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";
import { MemoryCluster, type Write } from "../../../support/memory-cluster.ts";
import { connectionSpec } from "../connection/specs.ts";
import { type Failures, KeyConsole } from "./console.ts";
import { breachesOfIntent, breachesOfSecret, breachesOfStatus, entryOf } from "./invariants.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects as they travel
type Raw = any;

export type Fault = "crash before" | "crash after" | "lost before" | "lost after" | "refused";

class Crash extends Error {}

const NAMESPACE = "team-a";
const TYPES = { apikeys: apiKeyType, secrets: secretType } as const;
const keyNamed = (name: string) => ({ namespace: NAMESPACE, name });

export class KeyWorld {
  readonly clock = createFakeClock();
  readonly kube = new MemoryCluster(this.clock);
  readonly console = new KeyConsole({
    checkAlive: () => this.#checkAlive(),
    call: async (...call) => this.#call(...call),
    onIssue: (description) =>
      this.#note(breachesOfIntent(description, this.console, (name) => this.status(name))),
  });
  readonly events: string[] = [];
  /** Names of changing calls that were carried out, in order. */
  readonly calls: string[] = [];
  readonly violations: string[] = [];
  /** What happens to the call of that number. */
  fault: (call: number, name: string) => Fault | undefined = () => undefined;
  /** Whether the API server forbids new Secrets, as without rights or quota. */
  forbidsSecrets = false;
  crashes = 0;
  /** How many answers to an issue were lost. */
  lost = 0;
  /** The objects that were to be reconciled now, each as often as that was said. */
  readonly woken: string[] = [];
  /** Secrets that a person wrote last. */
  readonly #touched = new Set<string>();
  #isAlive = true;
  #calls = 0;
  #ids = 0;
  #caches!: Caches;
  #metrics!: Metrics;
  #controller!: ReturnType<typeof createApiKeyController>;

  constructor() {
    this.kube.onWrite = (write, carryOut) => this.#write(write, carryOut);
    this.restart();
  }

  get controller() {
    return this.#controller;
  }

  apiKey(name = "ci", spec: object = {}): void {
    const object = { serviceAccountRef: { name: "bot" }, ...spec };
    this.kube.put(serviceAccountType, readyAccount(object.serviceAccountRef.name));
    this.kube.put(apiKeyType, { metadata: keyNamed(name), spec: object });
  }

  /** Gives the account `bot` another status. */
  account(status: object = {}): void {
    const account = readyAccount("bot");
    this.kube.put(serviceAccountType, { ...account, status: { ...account.status, ...status } });
  }

  status(name = "ci"): Raw {
    const stored = this.kube.peek(apiKeyType, keyNamed(name));
    return stored && asRead(apiKeyType, stored as Raw).status;
  }
  exists(name = "ci"): boolean {
    return this.kube.peek(apiKeyType, keyNamed(name)) !== undefined;
  }
  condition(type: string, name = "ci"): Raw {
    return this.status(name)?.conditions?.find((each: Raw) => each.type === type);
  }
  secret(name = "ci"): Secret | undefined {
    return this.kube.peek(secretType, keyNamed(name));
  }
  entry(entry: string, name = "ci"): string | undefined {
    return entryOf(this.secret(name), entry);
  }
  get writes(): number {
    return this.calls.length;
  }
  posts(): number {
    return this.calls.filter((name) => name === "issueKey").length;
  }

  /** As a person with kubectl would. */
  edit(kind: "apikeys" | "secrets", name: string, change: (object: Raw) => void): void {
    if (kind === "secrets" && this.secret(name) !== undefined) this.#touched.add(name);
    this.kube.edit(TYPES[kind], keyNamed(name), change);
  }
  rotate(token: string, name = "ci"): void {
    this.edit("apikeys", name, ({ metadata }) => {
      metadata.annotations = { ...metadata.annotations, [annotations.rotateRequestedAt]: token };
    });
  }
  remove(name = "ci"): void {
    this.kube.remove(apiKeyType, keyNamed(name));
    if (!this.exists(name)) this.#controller.onGone(keyNamed(name));
  }
  deleteSecret(name = "ci"): void {
    if (this.secret(name) !== undefined) this.kube.remove(secretType, keyNamed(name));
    this.#touched.delete(name);
  }
  /** In place of the one that is there. */
  putSecret(data: Readonly<Record<string, string>>, name = "ci"): void {
    this.deleteSecret(name);
    this.#touched.add(name);
    this.kube.put(secretType, { metadata: keyNamed(name), data });
  }

  /** Takes a backup; the answered function sets the API server back to it, Secrets included unless told otherwise. */
  backUp({ secrets = true } = {}): () => void {
    const { server } = this.kube;
    const { revision, entries } = server.storage.snapshot();
    return () => {
      const kept = secrets ? [] : server.storage.list(server.kindOf("", secretType.plural));
      server.storage.restore({ revision, entries: [...entries, ...kept] }, false);
    };
  }

  restart(): void {
    this.#isAlive = true;
    this.#metrics = createMetrics(new Registry());
    this.#caches = this.kube.openCaches();
    const enqueue = (key: string) => void this.woken.push(key);
    this.#controller = createApiKeyController(this.#context(), { enqueue });
  }

  /** One run; answers when to reconcile again, or the failure. */
  async pass(name = "ci"): Promise<number | Error> {
    const object = this.#caches.of(apiKeyType).get(keyNamed(name));
    if (object === undefined) return Number.POSITIVE_INFINITY;
    try {
      const signal = new AbortController().signal;
      const result = await this.#controller.reconcile(object, { id: "t", signal });
      return result.requeueAfterMs ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      if (!this.#isAlive) this.restart();
      return error as Error;
    }
  }

  /** Runs until nothing is due soon; answers how many there were. */
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
    return this.console.isLive(this.entry("keyId", name), this.entry("secret", name));
  }

  /** S5: every key at the console that bears the object's name is in its status. */
  unaccounted(name = "ci"): readonly string[] {
    const { current, superseded = [], orphaned = [] } = this.status(name) ?? {};
    const listed = [current, ...superseded, ...orphaned].map((key) => key?.keyId);
    return this.console.keys
      .filter(({ description }) => description.includes(`${NAMESPACE}/${name}#`))
      .map(({ keyId }) => keyId)
      .filter((keyId) => !listed.includes(keyId));
  }

  #context(): Context {
    const grant = { policyIds: ["*"], importServiceAccounts: true, maxExpiresInDays: 3_650 };
    return {
      kube: this.kube.client,
      caches: this.#caches,
      connections: {
        resolve: async () => ({
          ok: true,
          access: { client: this.console.client, spec: connectionSpec(), grant } as never,
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
  }

  #checkAlive(): void {
    if (!this.#isAlive) throw new Crash("dead");
  }

  /** Carries a call out, or does not, as the fault of its number says. */
  #call<T>(name: string, effect: () => T, { refused, unanswered }: Failures): T {
    this.#checkAlive();
    this.#calls += 1;
    const fault = this.fault(this.#calls, name);
    if (name === "issueKey" && fault?.startsWith("lost")) this.lost += 1;
    if (fault === "refused") throw refused;
    if (fault === "crash before") this.#crash();
    if (fault === "lost before") throw unanswered;
    const answer = effect();
    this.calls.push(name);
    this.#checkSecrets();
    if (fault === "crash after") this.#crash();
    if (fault === "lost after") throw unanswered;
    return answer;
  }

  #crash(): never {
    this.crashes += 1;
    this.#isAlive = false;
    throw new Crash("the process has died");
  }

  #write(write: Write, carryOut: () => Written): Written {
    const { verb, plural, name, status, dryRun } = write;
    this.#checkAlive();
    const refused = forbidden("not allowed");
    if (this.forbidsSecrets && verb === "create") throw refused;
    if (dryRun) return carryOut();
    const unanswered = new HttpError("timeout", "no answer");
    const effect = () => {
      const old = this.status(name);
      const written = carryOut();
      this.#checkWrite(write, old);
      return written;
    };
    return this.#call(`${status ? "status" : verb} ${plural}`, effect, { refused, unanswered });
  }

  #checkWrite({ verb, plural, name, status, body }: Write, old: Raw): void {
    if (plural === "secrets" && verb !== "delete") this.#touched.delete(name);
    if (plural === "apikeys" && body.metadata.resourceVersion === undefined)
      this.#note(["S6: no version"]);
    if (status) this.#note(breachesOfStatus(old, this.status(name), this.secret(name)));
  }

  #checkSecrets(): void {
    for (const secret of this.kube.all(secretType)) {
      const { name } = secret.metadata;
      if (name.endsWith("-next") || this.#touched.has(name)) continue;
      this.#note(breachesOfSecret(secret, this.console));
    }
  }

  #note(breaches: readonly string[]): void {
    this.violations.push(...breaches.map((breach) => `${breach} (call ${this.#calls})`));
  }
}

/** A key was rotated so long ago, and the console has calls to end the old one. */
export async function rotatedSince(ms: number): Promise<KeyWorld> {
  const world = new KeyWorld();
  world.console.extra = { disableKey: true, deleteKey: true };
  world.apiKey();
  await world.settle();
  world.rotate("now");
  await world.settle();
  await world.clock.advance(ms);
  return world;
}

function readyAccount(name: string) {
  return {
    metadata: keyNamed(name),
    spec: {},
    status: {
      saId: "sa-1",
      tpn: "tpn:sa-1",
      state: "active",
      conditions: [
        {
          type: "Ready",
          status: "True",
          reason: "Ready",
          message: "",
          lastTransitionTime: "2026-01-01T00:00:00Z",
        },
      ],
    },
  };
}
