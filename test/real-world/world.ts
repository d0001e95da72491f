/** A namespace on real API servers, a reference console, and managers that work there. */
import type { Config } from "../../src/app/config.ts";
import { namespaceType } from "../../src/kube/resource-types.ts";
import { systemRandom } from "../../src/util/random.ts";
import { systemClock } from "../../src/util/time.ts";
import type { ExtraCalls } from "../../tools/iam-server/operations.ts";
import { DEFAULT_CREDENTIALS } from "../../tools/iam-server/seed.ts";
import { type IamServer, startIamServer } from "../../tools/iam-server/server.ts";
import type { SeenSpan } from "../support/spans.ts";
import { type Gate, openGate } from "./gate.ts";
import { inParallel, patiently } from "./in-parallel.ts";
import { findLeaks } from "./leaks.ts";
import { prepareLease } from "./lease.ts";
import { type Manager, startManager } from "./manager.ts";
import { Objects } from "./objects.ts";
import { type OperatorProcess, type StartOptions, startOperator } from "./program.ts";
import type { Servers } from "./servers.ts";

export interface WorldOptions {
  readonly latencyMs?: number;
  /** Calls to the console at once. */
  readonly concurrency?: number;
  /** Calls beyond the console's documentation, which the Connection names. */
  readonly extraCalls?: ExtraCalls;
  /** Of managers in this process. */
  readonly config?: Partial<Config>;
}

export interface KeySpec {
  readonly name: string;
  readonly account: string;
  readonly spec?: object;
}

type Ground = Pick<Servers, "cluster" | "kube">;

export class World extends Objects {
  readonly iam: IamServer;
  /** What managers in this process did; complete when they have stopped. */
  readonly spans: SeenSpan[] = [];
  /** The manager in this process that was started last. */
  manager: Manager | undefined;
  readonly #ground: Ground;
  readonly #options: WorldOptions;
  readonly #programs: OperatorProcess[] = [];
  readonly #metrics: string[] = [];
  readonly #closers: (() => Promise<unknown>)[] = [];
  #lease: Promise<void> | undefined;

  private constructor(ground: Ground, namespace: string, iam: IamServer, options: WorldOptions) {
    super(ground.kube, namespace);
    this.iam = iam;
    this.#ground = ground;
    this.#options = options;
  }

  static async open(ground: Ground, options: WorldOptions = {}): Promise<World> {
    const { latencyMs = 0, extraCalls = {} } = options;
    const iam = await startIamServer({ latencyMs, extraCalls });
    const name = `t-${systemRandom.id()}`;
    await ground.kube.create(namespaceType, { metadata: { name } });
    const world = new World(ground, name, iam, options);
    world.#closers.push(() => iam.close());
    return world;
  }

  /** The same console, and the same name of the namespace, which need not exist on the other servers. */
  on(ground: Ground): World {
    return new World(ground, this.namespace, this.iam, this.#options);
  }

  /** The console's credentials and a Connection named `console`. */
  async connect(spec: object = {}): Promise<void> {
    const { concurrency = 64, extraCalls = {} } = this.#options;
    await this.writeSecret("console-login", { ...DEFAULT_CREDENTIALS });
    await this.apply("Connection", "console", {
      baseURL: this.iam.url,
      insecureHTTP: true,
      orgId: "org-1",
      projectId: "prj-1",
      domainName: "acme",
      credentials: { login: { secretRef: { name: "console-login" } } },
      limits: { requestsPerSecond: 1_000, burst: 10_000, concurrency },
      extraCalls,
      ...spec,
    });
  }

  /** Starts a manager in this process. */
  async start(config: Partial<Config> = {}): Promise<Manager> {
    const { namespace, logs, spans } = this;
    const manager = await startManager({
      kubeconfig: this.#ground.cluster.kubeconfigFor("operator"),
      namespace,
      config: { ...this.#options.config, ...config },
      // The console's time, which tests can move.
      clock: {
        ...systemClock,
        now: () => this.iam.world.clock.now(),
        monotonic: () => systemClock.monotonic() + this.iam.world.clock.offsetMs,
      },
      logs,
      spans,
    });
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      this.#metrics.push(await manager.metrics());
      await manager.stop();
    };
    this.manager = { ...manager, stop: () => (stopped ??= stop()) };
    this.#closers.push(this.manager.stop);
    return this.manager;
  }

  /** Starts a manager that is a program of its own. */
  async startProgram(
    options: Partial<StartOptions> & { readonly via?: Gate } = {},
  ): Promise<OperatorProcess> {
    const { via, args = [], ...rest } = options;
    const { namespace } = this;
    this.#lease ??= prepareLease(this.kube, namespace);
    await this.#lease;
    const program = await startOperator({
      kubeconfig: via?.kubeconfig ?? this.#ground.cluster.kubeconfigFor("operator"),
      ...rest,
      args: [`--namespaces=${namespace}`, `--operator-namespace=${namespace}`, ...args],
    });
    this.#programs.push(program);
    this.#closers.push(() => program.kill());
    return program;
  }

  async openGate(): Promise<Gate> {
    const { url, caFile, kubeconfigFor } = this.#ground.cluster;
    const gate = await openGate({ url, caFile, kubeconfig: kubeconfigFor("operator") });
    this.#closers.push(() => gate.close());
    return gate;
  }

  createAccounts(names: readonly string[]): Promise<void> {
    return inParallel(names, 16, (name) => patiently(() => this.serviceAccount(name)));
  }

  createKeys(keys: readonly KeySpec[]): Promise<void> {
    return inParallel(keys, 16, ({ name, account, spec }) =>
      patiently(() => this.apiKey(name, { serviceAccountRef: { name: account }, ...spec })),
    );
  }

  /** Waits until the ServiceAccount has its id. */
  async saIdOf(name: string): Promise<string> {
    let saId: string | undefined;
    const patience = 120_000;
    await this.until(
      `ServiceAccount ${name} to have an id`,
      async () => {
        saId = (await this.find("ServiceAccount", name))?.status?.saId;
        return saId !== undefined;
      },
      patience,
    );
    return saId ?? "";
  }

  /** Whether consumers have a pair in the Secret that the console accepts. */
  async holdsLivePair(secretName: string): Promise<boolean> {
    const { keyId = "", secret = "" } = await this.entries(secretName);
    const { world } = this.iam;
    return world.isPair(keyId, secret) && world.whyKeyIsRefused(keyId) === undefined;
  }

  /** Everything that managers have said anywhere but in Secrets. */
  async channels(): Promise<Readonly<Record<string, string>>> {
    return {
      logs: this.logs.join(""),
      metrics: this.#metrics.join("\n"),
      traces: this.spans.map((span) => JSON.stringify(span)).join("\n"),
      programs: this.#programs.map((program) => program.output()).join("\n"),
      ...(await this.listAll()),
    };
  }

  /** Everything that only the operator and the Secrets may have. */
  secrets(): readonly string[] {
    return [...this.iam.world.issuedSecrets(), DEFAULT_CREDENTIALS.password];
  }

  /** Ends the managers, the gates and the console, and leaves the objects. */
  async halt(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  /** Deletes the namespace too; rejects if a secret was said aloud or a call was made that the documentation does not have. */
  async close(): Promise<void> {
    await this.halt();
    const leaks = findLeaks(await this.channels(), this.secrets());
    const unknown = this.iam.requests.unknownCalls.length;
    await this.deleteNamespace();
    if (leaks.length > 0) throw new Error(`secrets were leaked: ${JSON.stringify(leaks)}`);
    if (unknown > 0) throw new Error(`${unknown} calls were made that the spec does not show`);
  }
}
