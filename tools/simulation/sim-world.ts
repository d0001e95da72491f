/** A whole world: servers, network, the operator's processes, and the people who use the cluster. */
import { Registry } from "prom-client";
import { type Config, readCommand } from "../../src/app/config.ts";
import { createOperator, type Operator, type OperatorOptions } from "../../src/app/operator.ts";
import { collectionPath, objectPath } from "../../src/kube/client/api-path.ts";
import type { ResourceType } from "../../src/kube/resource.ts";
import { leaseType, namespaceType, secretType } from "../../src/kube/resource-types.ts";
import { createMetrics, type Metrics } from "../../src/observability/metrics.ts";
import type { Instant } from "../../src/util/time.ts";
import { startHousekeeping } from "../api-server/housekeeping.ts";
import { type ApiResponse, ApiServer, randomUid } from "../api-server/server.ts";
import type { Change, Snapshot } from "../api-server/storage.ts";
import { type Tree, treeAt } from "../api-server/tree.ts";
import { DEFAULT_CREDENTIALS, SEEDED } from "../iam-server/seed.ts";
import type { KeyRecord } from "../iam-server/world.ts";
import { Console, type ConsoleOptions } from "./console.ts";
import { declaredIn } from "./declared.ts";
import { iamEndpoint, kubeEndpoint } from "./endpoints.ts";
import { type ClockOwner, type Fault, FaultPlan, type Plan } from "./faults.ts";
import { Journal } from "./journal.ts";
import { Kernel } from "./kernel.ts";
import { createSend } from "./network.ts";
import { NAMESPACE, OPERATOR_NAMESPACE } from "./places.ts";
import { recordingLog, toText } from "./recording-log.ts";
import { Replica } from "./replica.ts";
import type { SimProcess } from "./sim-process.ts";
import { createOpenStream } from "./watch-network.ts";
import { happen } from "./world-events.ts";

/** What the console is like. */
export type ConsoleSettings = Omit<ConsoleOptions, "now" | "random">;

export interface SimOptions extends ConsoleSettings {
  readonly seed: number;
  readonly plan: Plan;
  /** Strikes in place of the plan. */
  readonly faults?: FaultPlan;
  readonly timing?: OperatorOptions["timing"];
  /** The operator's flags, such as `--leader-elect=false`. */
  readonly flags?: readonly string[];
}

/** Milliseconds by which wall clocks are ahead of the true time. */
export interface ClockSkews {
  readonly operators: readonly number[];
  readonly kube: number;
  readonly iam: number;
}

const BASE_URL = "https://console.example.com";

export class SimWorld {
  readonly kernel: Kernel;
  readonly kube: ApiServer;
  readonly console: Console;
  readonly journal = new Journal();
  readonly faults: FaultPlan;
  /** What the operator logged, one text per line. */
  readonly logs: string[] = [];
  /** Bugs that nothing caught. */
  readonly escaped: string[] = [];
  /** Whether replicas elect a leader. */
  readonly isElected: boolean;
  #metrics: Metrics | undefined;
  /** Of every process that starts from now on. */
  flags: readonly string[];
  readonly #timing: OperatorOptions["timing"];
  readonly #replicas = new Map<string, Replica>();
  #crashes = 0;
  /** Keys that an administrator ended in the console, and when; those of a disabled account for as long as it is. */
  readonly endedKeys = new Map<string, number>();
  /** Keys that an administrator deleted in the console one by one. */
  readonly deletedKeys: KeyRecord[] = [];
  #isMeddling = false;
  #unleashedAt = 0;
  #snapshot: Snapshot | undefined;
  #apiServerSkewMs = 0;
  #hasMeddled = false;
  #hasLostDeclared = false;

  constructor({ seed, plan, faults, timing, flags = [], ...console }: SimOptions) {
    this.kernel = new Kernel(seed);
    const now = () => this.kernel.now;
    const uids = this.kernel.random.fork("kube");
    this.kube = new ApiServer({ now: () => this.apiServerTime, newUid: () => randomUid(uids) });
    this.console = new Console({ now, random: this.kernel.random.fork("console"), ...console });
    this.faults = faults ?? new FaultPlan(plan);
    this.#timing = timing;
    this.flags = flags;
    this.isElected = readConfig(flags, "any").leaderElect;
    startHousekeeping(this.kernel, this.kube);
    for (const name of [OPERATOR_NAMESPACE, NAMESPACE, "default"]) {
      this.create(namespaceType, { metadata: { name } });
    }
    this.create(secretType, {
      metadata: { name: "console-login", namespace: OPERATOR_NAMESPACE },
      stringData: { ...DEFAULT_CREDENTIALS },
    });
  }

  /** Whether somebody has laid hands on what the operator wrote: some promises end there. */
  get hasMeddled(): boolean {
    return this.#hasMeddled;
  }

  /** To be told of every change that the operator did not make. */
  noteMeddling({ type, kind }: Change): void {
    if (!this.#isMeddling || type === "ADDED") return;
    if (kind.type.kind === "Secret" || kind.custom) this.#hasMeddled = true;
  }

  /** Whatever `act` changes is the doing of somebody who heeds no rules. */
  meddle(act: () => void): void {
    this.#isMeddling = true;
    act();
    this.#isMeddling = false;
  }

  /** What the process that was started last exposes. */
  scrape(): Promise<string> {
    return this.#metrics?.render() ?? Promise.resolve("");
  }

  get crashes(): number {
    return this.#crashes;
  }

  get replicas(): ReadonlyMap<string, Replica> {
    return this.#replicas;
  }

  /** The replica that holds the lease; without election, or before it, the first one. */
  get leader(): Replica | undefined {
    const lease = this.get(leaseType, "iam-operator", OPERATOR_NAMESPACE);
    const holder = String(treeAt(lease ?? {}, "spec").holderIdentity ?? "");
    const replicas = [...this.#replicas.values()];
    return replicas.find(({ name }) => holder.startsWith(`${name}_`)) ?? replicas[0];
  }

  get process(): SimProcess | undefined {
    return this.leader?.process;
  }

  /** Has a replica of the operator run from now on. */
  startOperator(name = "operator", skewMs = 0): Replica {
    const replica = new Replica({
      kernel: this.kernel,
      name,
      skewMs,
      create: (process) => this.#createOperator(process, readConfig(this.flags, name)),
      onCrash: () => {
        this.#crashes += 1;
      },
      onEscape: (error) => void this.escaped.push(String(error)),
    });
    this.#replicas.set(name, replica);
    return replica;
  }

  /** Lets the world events of the plan come, counted from now. */
  unleash(): void {
    this.#unleashedAt = this.kernel.elapsed;
    for (const fault of this.faults.plan.faults) {
      if (fault.on === "world") this.#schedule(fault);
    }
  }

  /** When the plan's world events were let loose; they count from then. */
  get unleashedAt(): number {
    return this.#unleashedAt;
  }

  /** SIGTERM, to the leader. */
  stopOperator(): void {
    this.leader?.stop();
  }

  create(type: ResourceType, object: Tree): Tree {
    const answer = this.offer(type, object);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
    return answer.body;
  }

  /** As `create`, where it may be refused: the namespace may be going. */
  offer(type: ResourceType, object: Tree): ApiResponse {
    const { namespace } = object.metadata as { namespace?: string };
    const { group, version, kind } = type;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return this.#call("POST", `${collectionPath(type, namespace)}?fieldManager=user`, {
      apiVersion,
      kind,
      ...object,
    });
  }

  get(type: ResourceType, name: string, namespace = NAMESPACE): Tree | undefined {
    const kind = this.kube.kindOf(type.group, type.plural);
    return this.kube.storage.get(kind, type.namespaced ? namespace : "", name)?.object;
  }

  list(type: ResourceType): readonly Tree[] {
    const kind = this.kube.kindOf(type.group, type.plural);
    return this.kube.storage.list(kind).map(({ object }) => object);
  }

  /** A merge patch as a user makes it. */
  patch(
    type: ResourceType,
    name: string,
    patch: Tree,
    subresource?: string,
    namespace = type.namespaced ? NAMESPACE : "",
  ): ApiResponse {
    const path = `${objectPath(type, { namespace, name }, subresource)}?fieldManager=user`;
    return this.#call("PATCH", path, patch, "application/merge-patch+json");
  }

  /** As somebody edits it in place. */
  replaceStatus(type: ResourceType, name: string, status: Tree): ApiResponse {
    const namespace = type.namespaced ? NAMESPACE : "";
    const path = `${objectPath(type, { namespace, name }, "status")}?fieldManager=user`;
    return this.#call("PUT", path, { ...this.get(type, name), status });
  }

  delete(
    type: ResourceType,
    name: string,
    namespace = type.namespaced ? NAMESPACE : "",
  ): ApiResponse {
    return this.#call("DELETE", objectPath(type, { namespace, name }));
  }

  get digest(): string {
    return this.kernel.digest;
  }

  #call(method: string, path: string, body?: Tree, contentType = "application/json"): ApiResponse {
    return this.kube.handle({
      method,
      url: `https://kube${path}`,
      headers: { "content-type": contentType },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Whether a restore took away what people had declared since the snapshot, credentials included. */
  get hasLostDeclared(): boolean {
    return this.#hasLostDeclared;
  }

  /** By the API server's clock. */
  get apiServerTime(): Instant {
    return this.kernel.now + this.#apiServerSkewMs;
  }

  /** How far the wall clocks are off: the operators', the API server's, the console's. */
  get clockSkews(): ClockSkews {
    return {
      operators: [...this.#replicas.values()].map(({ process }) => process.clock.skew),
      kube: this.#apiServerSkewMs,
      iam: this.console.world.clock.now() - this.kernel.now,
    };
  }

  /** The wall clock of a machine steps, for good or for a while. */
  stepClock(of: ClockOwner, ms: number, forMs?: number): void {
    const step = this.#stepperOf(of);
    step(ms);
    if (forMs === undefined) return;
    const done = this.faults.defer();
    this.kernel.schedule(forMs, () => {
      step(-ms);
      done();
    });
  }

  #stepperOf(of: ClockOwner): (ms: number) => void {
    if (of === "iam") return (ms) => this.console.world.clock.advance(ms);
    if (of === "operator") {
      const replica = this.leader;
      return (ms) => replica?.stepClock(ms);
    }
    return (ms) => {
      this.#apiServerSkewMs += ms;
    };
  }

  /** Has the console's lists lag for a while. */
  putListsBehind(ms: number, forMs: number): void {
    const done = this.faults.defer();
    this.console.listsBehindMs = ms;
    this.kernel.schedule(forMs, () => {
      this.console.listsBehindMs = 0;
      done();
    });
  }

  /** An administrator deletes a key in the console. */
  deleteKeyInConsole(keyId: string): void {
    const { world } = this.console;
    this.endedKeys.set(keyId, this.kernel.elapsed);
    const key = world.keys.get(keyId);
    if (key !== undefined) this.deletedKeys.push(key);
    world.deleteKey(keyId);
  }

  /** An administrator disables a key in the console, or enables it again. */
  setKeyStatusInConsole(keyId: string, status: "active" | "inactive"): void {
    const { world } = this.console;
    world.setKeyStatus(keyId, status);
    if (status === "inactive") this.endedKeys.set(keyId, this.kernel.elapsed);
    else if (world.whyKeyIsRefused(keyId) === undefined) this.endedKeys.delete(keyId);
  }

  /** A key expires in the console before its time. */
  expireKeyInConsole(keyId: string): void {
    this.endedKeys.set(keyId, this.kernel.elapsed);
    this.console.world.expireKey(keyId);
  }

  /** An administrator deletes an account in the console, with its keys. */
  deleteAccountInConsole(saId: string): void {
    const { world } = this.console;
    for (const { keyId } of world.keysOf(saId)) this.endedKeys.set(keyId, Number.POSITIVE_INFINITY);
    world.deleteAccount(saId);
    // Keys that were deleted before may have been the account's, which gets no other key.
    for (const keyId of this.endedKeys.keys())
      if (!world.keys.has(keyId)) this.endedKeys.set(keyId, Number.POSITIVE_INFINITY);
  }

  /** An administrator disables or enables an account in the console. */
  setAccountStatusInConsole(saId: string, status: "active" | "inactive"): void {
    const { world } = this.console;
    world.setAccountStatus(saId, status);
    for (const { keyId } of world.keysOf(saId)) {
      if (status === "inactive") this.endedKeys.set(keyId, Number.POSITIVE_INFINITY);
      else if (world.whyKeyIsRefused(keyId) === undefined) this.endedKeys.delete(keyId);
      // It ended while the account was disabled, or before.
      else this.endedKeys.set(keyId, this.kernel.elapsed);
    }
  }

  /** What a restore goes back to. */
  takeSnapshot(): void {
    this.#snapshot = this.kube.storage.snapshot();
  }

  /** Goes back to the last snapshot. */
  restore(bumped: boolean): void {
    if (this.#snapshot === undefined) return;
    this.#hasMeddled = true;
    const declared = declaredIn(this.kube.storage.all);
    this.kube.storage.restore(this.#snapshot, bumped);
    if (declaredIn(this.kube.storage.all) !== declared) this.#hasLostDeclared = true;
  }

  #schedule(fault: Extract<Fault, { on: "world" }>): void {
    const { event, afterMs } = fault;
    if (event.kind === "Restore") {
      this.kernel.schedule(afterMs - event.backMs, () => this.takeSnapshot());
    }
    this.kernel.schedule(afterMs, () => {
      this.faults.struck.add(fault);
      this.kernel.note(`event ${JSON.stringify(event)}`);
      this.meddle(() => happen(this, event));
    });
  }

  #createOperator(process: SimProcess, config: Config): Operator {
    const context = { kernel: this.kernel, journal: this.journal, faults: this.faults };
    const log = recordingLog((line) => {
      const text = `${process.name} ${toText(line)}`;
      this.logs.push(text);
      this.kernel.note(text);
    });
    const send = createSend(context, process, kubeEndpoint(this.kube));
    const metrics = createMetrics(new Registry());
    this.#metrics = metrics;
    return createOperator({
      config,
      metrics,
      clock: process.clock,
      random: process.random,
      log,
      kube: {
        baseURL: "https://kube",
        send,
        sendLease: send,
        openStream: createOpenStream(context, process, this.kube),
      },
      ...(this.#timing === undefined ? {} : { timing: this.#timing }),
      sendIam: createSend(context, process, iamEndpoint(this.console)),
    });
  }
}

function readConfig(flags: readonly string[], podName: string): Config {
  const command = readCommand(["--operator-namespace", OPERATOR_NAMESPACE, ...flags], {
    POD_NAME: podName,
  });
  if (command.kind !== "Run") throw new Error("the flags ask for something else");
  return command.config;
}

/** A connection to the simulated console that every namespace may use. */
export const connectionSpec: Tree = {
  baseURL: BASE_URL,
  orgId: SEEDED.orgId,
  projectId: SEEDED.projectId,
  domainId: SEEDED.orgId,
  domainName: SEEDED.orgName,
  partitionId: SEEDED.partitionId,
  credentials: { login: { secretRef: { name: "console-login" } } },
  grants: [
    {
      name: "all",
      namespaces: { names: [NAMESPACE] },
      policyIds: ["*"],
      quotaExports: [SEEDED.clusterId],
    },
  ],
};
