/** A namespace on the real control plane, a reference console, and an operator that works there. */
import { Registry } from "prom-client";
import { inject } from "vitest";
import type { ApiKey } from "../../../src/api/api-key.ts";
import { findCondition } from "../../../src/api/conditions.ts";
import type { ClusterConnection, Connection } from "../../../src/api/connection.ts";
import { GROUP, type IamObject, VERSION } from "../../../src/api/meta.ts";
import type { PolicyBinding } from "../../../src/api/policy-binding.ts";
import type { ResourceQuotaExport } from "../../../src/api/resource-quota-export.ts";
import type { ServiceAccount } from "../../../src/api/service-account.ts";
import { type Config, readCommand } from "../../../src/app/config.ts";
import { createOperator, type Operator } from "../../../src/app/operator.ts";
import type { Timing } from "../../../src/controllers/api-key/timing.ts";
import {
  apiKeyType,
  clusterConnectionType,
  connectionType,
  policyBindingType,
  resourceQuotaExportType,
  type Secret,
  secretType,
  serviceAccountType,
} from "../../../src/controllers/resource-types.ts";
import { createTransport, type Transport } from "../../../src/iam/exchange/transport.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { createKubeClient } from "../../../src/kube/client/http-kube-client.ts";
import { loadKubeEndpoint } from "../../../src/kube/config/config.ts";
import type { KubeObject, ResourceType } from "../../../src/kube/resource.ts";
import { createKubeTransport } from "../../../src/kube/transport/transport.ts";
import { createLogger } from "../../../src/observability/logger.ts";
import { createMetrics, type Metrics } from "../../../src/observability/metrics.ts";
import { startTracing } from "../../../src/observability/tracing.ts";
import { systemRandom } from "../../../src/util/random.ts";
import { systemClock } from "../../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../../tools/iam-server/server.ts";
import type { Shapes } from "../../../tools/iam-server/shapes.ts";
import { collectSpans, type SeenSpan } from "../../support/spans.ts";
import { findLeaks } from "./leak-check.ts";
import { MortalProcess } from "./mortal-process.ts";

const types = {
  ClusterConnection: clusterConnectionType,
  Connection: connectionType,
  ServiceAccount: serviceAccountType,
  ApiKey: apiKeyType,
  PolicyBinding: policyBindingType,
  ResourceQuotaExport: resourceQuotaExportType,
};
export interface Kinds {
  ClusterConnection: ClusterConnection;
  Connection: Connection;
  ServiceAccount: ServiceAccount;
  ApiKey: ApiKey;
  PolicyBinding: PolicyBinding;
  ResourceQuotaExport: ResourceQuotaExport;
}

/** So short that a test can wait for every one of them. */
export const quickTiming: Timing = {
  recoverySettleMs: 300,
  recoveryGapMs: 100,
  verifyRetryMs: 150,
  verifyPatienceMs: 1_000,
  verifySlowRetryMs: 300,
  verifyGiveUpMs: 4_000,
  secretCheckMs: 700,
  endedPatienceMs: 600,
  keyCheckMs: 700,
  longestKeyCheckMs: 3_000,
  deletionPatienceMs: 3_000,
};

export interface WorldOptions {
  readonly shapes?: Partial<Shapes>;
  readonly extraCalls?: boolean;
  readonly timing?: Partial<Timing>;
  readonly config?: Partial<Config>;
  /** Neither a connection nor an operator yet. */
  readonly bare?: boolean;
}

export interface RunningOperator {
  readonly process: MortalProcess;
  /** As on SIGTERM. */
  stop(): Promise<void>;
  /** As on SIGKILL: nothing it has under way arrives anywhere. */
  kill(): Promise<void>;
  metrics(): Promise<string>;
}

const EXTRA_CALLS = {
  disableKey: { method: "POST", path: "/api/v1/x/accounts/{saId}/keys/{keyId}/disable" },
  deleteKey: { method: "DELETE", path: "/api/v1/x/accounts/{saId}/keys/{keyId}" },
  deleteServiceAccount: { method: "DELETE", path: "/api/v1/x/accounts/{saId}" },
} as const;

export class World {
  readonly namespace: string;
  readonly iam: IamServer;
  /** With every right; what a user or an administrator does. */
  readonly kube: KubeClient;
  readonly logs: string[] = [];
  /** What operators did; complete once they have ended. */
  readonly spans: SeenSpan[] = [];
  operator: RunningOperator | undefined;
  readonly #options: WorldOptions;
  readonly #metrics: string[] = [];
  readonly #closers: (() => Promise<unknown>)[];

  private constructor(
    namespace: string,
    iam: IamServer,
    kube: KubeClient,
    options: WorldOptions,
    closers: (() => Promise<unknown>)[],
  ) {
    this.namespace = namespace;
    this.iam = iam;
    this.kube = kube;
    this.#options = options;
    this.#closers = closers;
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const endpoint = await loadKubeEndpoint({
      kubeconfig: inject("controlPlane").kubeconfig,
      clock: systemClock,
    });
    const transport = createKubeTransport({ endpoint, clock: systemClock });
    const kube = createKubeClient({
      baseURL: endpoint.server,
      send: transport.send,
      clock: systemClock,
      userAgent: "test",
      fieldManager: "test",
    });
    const iam = await startIamServer({
      ...(options.shapes === undefined ? {} : { shapes: options.shapes }),
      ...(options.extraCalls === true ? { extraCalls: EXTRA_CALLS } : {}),
    });
    const namespace = `t-${systemRandom.id()}`;
    await kube.create(namespaceResource, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    const world = new World(namespace, iam, kube, options, [
      () => iam.close(),
      () => transport.close(),
    ]);
    if (options.bare !== true) {
      await world.connect();
      await world.start();
    }
    return world;
  }

  /** The console's credentials and a Connection named `console`. */
  async connect(spec: object = {}): Promise<void> {
    const { username, password, domain } = DEFAULT_CREDENTIALS;
    await this.writeSecret("console-login", { username, password, domain });
    await this.apply("Connection", "console", {
      baseURL: this.iam.url,
      insecureHTTP: true,
      orgId: "org-1",
      projectId: "prj-1",
      domainName: "acme",
      credentials: { login: { secretRef: { name: "console-login" } } },
      limits: { requestsPerSecond: 1_000, burst: 1_000, concurrency: 16 },
      ...(this.#options.extraCalls === true ? { extraCalls: EXTRA_CALLS } : {}),
      ...spec,
    });
  }

  /** Starts an operator; `process` can be killed. */
  async start(
    process = new MortalProcess(),
    config: Partial<Config> = {},
  ): Promise<RunningOperator> {
    const endpoint = await loadKubeEndpoint({
      kubeconfig: inject("controlPlane").operatorKubeconfig,
      clock: systemClock,
    });
    const transport = createKubeTransport({ endpoint, clock: systemClock });
    const consoles = new Map<string, Transport>();
    const consoleAt = (origin: string) => {
      const transport =
        consoles.get(origin) ?? createTransport({ origin, connections: 16, clock: systemClock });
      consoles.set(origin, transport);
      return transport;
    };
    const metrics = createMetrics(new Registry());
    const { log } = createLogger({
      level: "debug",
      format: "json",
      clock: systemClock,
      sink: { write: (line) => void this.logs.push(line), flushSync: () => undefined },
    });
    const tracing = startTracing({
      version: "test",
      instance: this.namespace,
      sampler: { name: "always_on", ratio: 1 },
      log,
      exporter: collectSpans(this.spans),
    });
    const operator = createOperator({
      config: { ...this.#config(), ...this.#options.config, ...config },
      metrics,
      tracer: tracing.tracer,
      // The console's time, which tests can move.
      clock: { ...systemClock, now: () => this.iam.world.clock.now() },
      random: systemRandom,
      log,
      kube: {
        baseURL: endpoint.server,
        send: process.wrap(transport.send),
        sendLease: transport.sendLease,
        openStream: transport.openStream,
      },
      sendIam: process.wrap((request) => consoleAt(new URL(request.url).origin).send(request)),
      timing: { ...quickTiming, ...this.#options.timing },
    });
    this.operator = this.#running(operator, metrics, process, async () => {
      await transport.close();
      await tracing.close();
      await Promise.all([...consoles.values()].map((each) => each.close()));
    });
    await this.until("the operator's caches are synced", () => operator.notReady() === undefined);
    return this.operator;
  }

  #config(): Config {
    const command = readCommand(
      [
        `--namespaces=${this.namespace}`,
        "--leader-elect=false",
        `--operator-namespace=${this.namespace}`,
        "--shutdown-grace=10s",
        "--log-level=debug",
      ],
      {},
    );
    if (command.kind !== "Run") throw new Error("not a run");
    return command.config;
  }

  #running(
    operator: Operator,
    metrics: Metrics,
    process: MortalProcess,
    close: () => Promise<void>,
  ): RunningOperator {
    const stopping = new AbortController();
    const ended = operator.run(stopping.signal);
    const keepMetrics = async () => {
      this.#metrics.push(await metrics.render());
    };
    return {
      process,
      stop: async () => {
        await keepMetrics();
        stopping.abort();
        await ended;
        await close();
      },
      kill: async () => {
        process.kill();
        // A dead process cannot be stopped any more.
        this.operator = undefined;
        await keepMetrics();
        // What is left of it can no longer do anything; without its connections it comes to its end.
        stopping.abort();
        await close();
        void ended.catch(() => undefined);
      },
      metrics: () => metrics.render(),
    };
  }

  /** Creates or changes an object as a user would. */
  async apply<Kind extends keyof Kinds>(
    kind: Kind,
    name: string,
    spec: object,
    metadata: object = {},
  ): Promise<Kinds[Kind]> {
    return this.kube.apply(this.type(kind), {
      apiVersion: `${GROUP}/${VERSION}`,
      kind,
      metadata: { ...this.#key(kind, name), ...metadata },
      spec,
    } as KubeObject);
  }

  serviceAccount(name: string, spec: object = {}): Promise<ServiceAccount> {
    return this.apply("ServiceAccount", name, {
      connectionRef: { kind: "Connection", name: "console" },
      ...spec,
    });
  }

  apiKey(name: string, spec: object = {}, metadata: object = {}): Promise<ApiKey> {
    return this.apply("ApiKey", name, { serviceAccountRef: { name: "ci" }, ...spec }, metadata);
  }

  async get<Kind extends keyof Kinds>(kind: Kind, name: string): Promise<Kinds[Kind]> {
    const object = await this.find(kind, name);
    if (object === undefined) throw new Error(`there is no ${kind} ${name}`);
    return object;
  }

  find<Kind extends keyof Kinds>(kind: Kind, name: string): Promise<Kinds[Kind] | undefined> {
    return this.kube.get(this.type(kind), { namespace: "", ...this.#key(kind, name) });
  }

  annotate(
    kind: keyof Kinds,
    name: string,
    annotations: Readonly<Record<string, string | null>>,
  ): Promise<unknown> {
    return this.kube.mergePatch(
      this.type(kind),
      { namespace: this.namespace, name },
      { metadata: { annotations } },
    );
  }

  patch(kind: keyof Kinds, name: string, patch: object): Promise<unknown> {
    return this.kube.mergePatch(this.type(kind), { namespace: this.namespace, name }, patch);
  }

  async delete(kind: keyof Kinds, name: string): Promise<void> {
    await this.kube.delete(this.type(kind), { namespace: this.namespace, name }, {});
  }

  secret(name: string): Promise<Secret | undefined> {
    return this.kube.get(secretType, { namespace: this.namespace, name });
  }

  /** The entries of a Secret as texts. */
  async entries(name: string): Promise<Readonly<Record<string, string>>> {
    const secret = await this.secret(name);
    return Object.fromEntries(
      Object.entries(secret?.data ?? {}).map(([key, value]) => [
        key,
        Buffer.from(value, "base64").toString(),
      ]),
    );
  }

  async writeSecret(
    name: string,
    entries: Readonly<Record<string, string>>,
    metadata: object = {},
  ): Promise<void> {
    await this.kube.apply(secretType, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace: this.namespace, ...metadata },
      stringData: entries,
    } as KubeObject);
  }

  readonly secretType = secretType;

  labelNamespace(labels: Readonly<Record<string, string | null>>): Promise<unknown> {
    const key = { namespace: "", name: this.namespace };
    return this.kube.mergePatch(namespaceResource, key, { metadata: { labels } });
  }

  async deleteNamespace(): Promise<void> {
    await this.kube.delete(namespaceResource, { namespace: "", name: this.namespace }, {});
  }

  async namespaceIsGone(): Promise<boolean> {
    const found = await this.kube.get(namespaceResource, { namespace: "", name: this.namespace });
    return found === undefined;
  }

  /** Waits until the object's condition has this status, and this reason where one is given. */
  async condition(
    kind: keyof Kinds,
    name: string,
    type: string,
    status: "True" | "False",
    reason?: string,
  ): Promise<IamObject<unknown, unknown>> {
    const holds = (object: Kinds[keyof Kinds] | undefined) => {
      const found = findCondition(object?.status?.conditions, type);
      const observed = object?.status?.observedGeneration === object?.metadata.generation;
      return (
        found?.status === status && observed && (reason === undefined || found.reason === reason)
      );
    };
    let last: Kinds[keyof Kinds] | undefined;
    await this.until(
      () =>
        `${kind} ${name} to be ${type}=${status} ${reason ?? ""}; it is ${JSON.stringify(last?.status?.conditions)}`,
      async () => {
        last = await this.find(kind, name);
        return holds(last);
      },
    );
    return last as IamObject<unknown, unknown>;
  }

  ready(kind: keyof Kinds, name: string): Promise<IamObject<unknown, unknown>> {
    return this.condition(kind, name, "Ready", "True");
  }

  /** What a condition tells its reader. */
  async message(kind: keyof Kinds, name: string, type = "Ready"): Promise<string> {
    const { status } = await this.get(kind, name);
    return findCondition(status?.conditions, type)?.message ?? "";
  }

  /** Asks for a new look, as a person would, and waits for it; each token does so once. */
  async lookAgain(kind: keyof Kinds, name: string, token: string): Promise<void> {
    await this.annotate(kind, name, { "iam-operator.io/reconcile-requested-at": token });
    await this.until(
      `${kind} ${name} to be looked at`,
      async () => (await this.get(kind, name)).status?.lastHandledReconcileAt === token,
    );
  }

  async isGone(kind: keyof Kinds, name: string, timeoutMs?: number): Promise<void> {
    const gone = async () => (await this.find(kind, name)) === undefined;
    await this.until(`${kind} ${name} to go`, gone, timeoutMs);
  }

  async until(
    what: string | (() => string),
    holds: () => boolean | Promise<boolean>,
    timeoutMs = 20_000,
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while (!(await holds())) {
      if (performance.now() > deadline) {
        const text = typeof what === "string" ? what : what();
        throw new Error(`waited ${timeoutMs} ms for ${text}\n${this.logs.slice(-15).join("")}`);
      }
      await systemClock.sleep(25);
    }
  }

  /** Whether consumers have a pair in the Secret that the console accepts. */
  async holdsLivePair(secretName: string): Promise<boolean> {
    const { keyId, secret } = await this.entries(secretName);
    return (
      keyId !== undefined &&
      secret !== undefined &&
      this.iam.world.isPair(keyId, secret) &&
      this.iam.world.whyKeyIsRefused(keyId) === undefined
    );
  }

  /** Notes of the events about an object. */
  async events(name: string): Promise<readonly { reason: string; note: string; type: string }[]> {
    const events = await this.kube.list<EventObject>(eventType, { namespace: this.namespace });
    return events
      .filter(({ regarding }) => regarding?.name === name)
      .map(({ reason = "", note = "", type = "" }) => ({ reason, note, type }));
  }

  /** Everything the operator has said anywhere but in Secrets. */
  async channels(): Promise<Readonly<Record<string, string>>> {
    const lists = await Promise.all(
      Object.values(types).map((type) =>
        this.kube.list(type as ResourceType, { namespace: this.namespace }),
      ),
    );
    const events = await this.kube.list(eventType, { namespace: this.namespace });
    return {
      logs: this.logs.join(""),
      metrics: this.#metrics.join("\n"),
      traces: this.spans.map((span) => JSON.stringify(span)).join("\n"),
      objects: JSON.stringify(lists),
      events: JSON.stringify(events),
    };
  }

  /** Everything that must be known to the operator and to nobody else. */
  secrets(): readonly string[] {
    return [...this.iam.world.issuedSecrets(), DEFAULT_CREDENTIALS.password];
  }

  /** Stops everything, and fails where a secret was said aloud or a call was made that the spec does not show. */
  async close(): Promise<void> {
    await this.operator?.stop();
    const channels = await this.channels();
    const leaks = findLeaks(channels, this.secrets());
    const unknown = this.iam.requests.unknownCalls.length;
    await this.#removeFinalizers();
    await this.kube.delete(namespaceResource, { namespace: "", name: this.namespace }, {});
    for (const close of this.#closers) await close();
    if (leaks.length > 0) throw new Error(`secrets were leaked: ${JSON.stringify(leaks)}`);
    if (unknown > 0) throw new Error(`${unknown} calls were made that the spec does not show`);
  }

  /** Without an operator nobody else would; a namespace that cannot go keeps the servers busy for all other tests. */
  async #removeFinalizers(): Promise<void> {
    const namespaced = Object.values(types).filter((type) => type.namespaced) as ResourceType[];
    for (const type of namespaced) {
      for (const { metadata } of await this.kube.list(type, { namespace: this.namespace })) {
        const { name, finalizers = [] } = metadata;
        if (finalizers.length === 0) continue;
        const key = { namespace: this.namespace, name };
        await this.kube.mergePatch(type, key, { metadata: { finalizers: null } });
      }
    }
  }

  /** An object of the cluster has a name only. */
  #key(kind: keyof Kinds, name: string): { readonly name: string; readonly namespace?: string } {
    return this.type(kind).namespaced ? { namespace: this.namespace, name } : { name };
  }

  type<Kind extends keyof Kinds>(kind: Kind): ResourceType<Kinds[Kind]> {
    return types[kind] as unknown as ResourceType<Kinds[Kind]>;
  }
}

interface EventObject extends KubeObject {
  readonly regarding?: { readonly name?: string };
  readonly reason?: string;
  readonly note?: string;
  readonly type?: string;
}

const eventType: ResourceType<EventObject> = {
  group: "events.k8s.io",
  version: "v1",
  plural: "events",
  kind: "Event",
  namespaced: true,
};

const namespaceResource: ResourceType = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};
