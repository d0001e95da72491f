/** One world of the small scope: two or three ApiKeys of one account, two replicas, and somebody who decides what comes next. */
import {
  apiKeyType,
  clusterConnectionType,
  serviceAccountType,
} from "../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../src/util/time.ts";
import type { Label, QueuedEvent } from "./event-queue.ts";
import { NO_FAULTS } from "./faults.ts";
import { endChecks, everythingIsReady } from "./invariants/at-rest.ts";
import { apiKeysOf } from "./invariants/view.ts";
import { Invariants, type Violation } from "./invariants.ts";
import type { CallRecord } from "./journal.ts";
import { NAMESPACE } from "./places.ts";
import { connectionSpec, SimWorld } from "./sim-world.ts";
import { happen } from "./world-events.ts";

/**
 * What can come next: something that is under way arrives, something befalls the leader, or a gateway puts off a change
 * at the console, or has it made twice.
 */
export type Step =
  | { readonly kind: "Event"; readonly event: QueuedEvent; readonly label: Label }
  | { readonly kind: "Blow"; readonly blow: Blow }
  | {
      readonly kind: "Gateway";
      readonly does: "PutOff" | "Repeat";
      readonly event: QueuedEvent;
      readonly label: Label;
    };

export const blows = ["Kill", "Depose", "Stop", "DeleteLease", "PassTime"] as const;
/** PassTime: the next timer goes off, although something is still under way. Depose: paused until another one leads. */
export type Blow = (typeof blows)[number];

export function nameOf(step: Step): string {
  switch (step.kind) {
    case "Event":
      return step.label.name;
    case "Blow":
      return step.blow;
    case "Gateway":
      return `${step.does} ${step.label.name}`;
  }
}

/** What is put off comes when it has been looked for in vain. */
const PUT_OFF_MS = 40 * SECOND;

/** Longer than a lease and a retry. */
const DEPOSED_MS = 20 * SECOND;
const PATIENCE_MS = 5 * MINUTE;
/** After this, the account and all accounts of the connection have been listed again. */
const AUDITED_MS = 23 * MINUTE;
const NAMES = ["one", "two", "three"];

export class SmallWorld {
  readonly #world: SimWorld;
  readonly #invariants: Invariants;
  readonly #setUpCalls: number;
  readonly #keys: readonly string[];
  /** Keys that the blows so far may cost: each of them every issue that is under way. */
  #allowance = 0;
  /** Until when something may come that a gateway has put off. */
  #putOffUntil = 0;

  private constructor(world: SimWorld, keys: readonly string[]) {
    this.#world = world;
    this.#keys = keys;
    this.#invariants = new Invariants(world);
    this.#setUpCalls = world.journal.calls.length;
  }

  /** The world in which the leader has just sent its `start`th call that matters; `undefined` where it never does. */
  static async at(start: number, count: number): Promise<SmallWorld | undefined> {
    const keys = NAMES.slice(0, count);
    const world = new SimWorld({ seed: 1, plan: NO_FAULTS });
    world.startOperator("a");
    await world.kernel.advance(SECOND);
    world.startOperator("b");
    await world.kernel.advance(SECOND);
    const small = new SmallWorld(world, keys);
    createObjects(world, keys);
    return (await small.#reach(start)) ? small : undefined;
  }

  async #reach(start: number): Promise<boolean> {
    const { kernel, journal } = this.#world;
    let seen = this.#setUpCalls;
    let steps = 0;
    await kernel.run({
      until: kernel.elapsed + MINUTE,
      while: () => {
        for (; seen < journal.calls.length; seen += 1) if (matters(journal.calls[seen])) steps += 1;
        return steps < start;
      },
    });
    return steps >= start;
  }

  /** In an order that is the same in every run that came here by the same steps. */
  get enabled(): readonly Step[] {
    const alive = new Set([...this.#world.replicas.values()].map(({ process }) => process.name));
    const labelled = this.#world.kernel.waiting.flatMap((event) => {
      const label = event.label?.();
      return label === undefined ? [] : [{ kind: "Event", event, label } as const];
    });
    const arriving = labelled.filter(({ label: { to, stream } }) => {
      const isFirst = labelled.every(
        ({ label: other }) =>
          other.stream?.name !== stream?.name || (other.stream?.index ?? 0) >= (stream?.index ?? 0),
      );
      return isFirst && (SERVERS.has(to) || alive.has(to));
    });
    const gateways = arriving
      .filter(({ label: { to, isRead } }) => to === "iam" && !isRead)
      .flatMap(({ event, label }) =>
        (["PutOff", "Repeat"] as const).map(
          (does) => ({ kind: "Gateway", does, event, label }) as const,
        ),
      );
    return [...arriving, ...blows.map((blow) => ({ kind: "Blow", blow }) as const), ...gateways];
  }

  async take(step: Step): Promise<void> {
    if (step.kind === "Event") await this.#world.kernel.runNow(step.event);
    else if (step.kind === "Blow") await this.#strike(step.blow);
    else await this.#putOff(step);
    await this.#settle();
  }

  /** Lets everything take its course; what has not held, on the way or in the end. */
  async finish(): Promise<readonly Violation[]> {
    const { kernel } = this.#world;
    const isDue = () => kernel.elapsed >= this.#putOffUntil;
    const patienceMs = this.#putOffUntil > 0 ? AUDITED_MS : PATIENCE_MS;
    const deadline = Math.max(kernel.elapsed, this.#putOffUntil) + patienceMs;
    while (kernel.elapsed < deadline && !(isDue() && isDone(this.#world)))
      await kernel.advance(SECOND);
    const end = {
      world: this.#world,
      epochs: this.#keys.length,
      allowance: this.#allowance,
      quietSince: kernel.elapsed,
      picture: "",
      unreached: everythingIsReady,
    };
    const atEnd = FINAL.flatMap((invariant) => {
      const what = endChecks[invariant]?.(end);
      return what === undefined ? [] : [{ invariant, what, at: kernel.elapsed }];
    });
    return [...this.#invariants.violations, ...atEnd];
  }

  async #strike(blow: Blow): Promise<void> {
    const world = this.#world;
    switch (blow) {
      case "PassTime":
        await this.#nextTimer();
        return;
      case "Depose":
        this.#allowance += this.#keys.length;
        world.process?.pauseFor(DEPOSED_MS);
        await world.kernel.advance(DEPOSED_MS);
        return;
      case "Kill":
        this.#allowance += this.#keys.length;
        happen(world, { kind: blow });
        return;
      default:
        happen(world, { kind: blow });
    }
  }

  /** Held back, or done now and once more after a second. */
  async #putOff({ does, event, label }: Extract<Step, { kind: "Gateway" }>): Promise<void> {
    const { kernel } = this.#world;
    if (label.call !== undefined) label.call.isPutOff = true;
    this.#allowance += 1;
    if (does === "Repeat") await kernel.runNow(event);
    else event.cancelled = true;
    const afterMs = does === "Repeat" ? SECOND : PUT_OFF_MS;
    this.#putOffUntil = Math.max(this.#putOffUntil, kernel.elapsed + afterMs);
    kernel.schedule(afterMs, event.run);
  }

  async #nextTimer(): Promise<void> {
    const { kernel } = this.#world;
    const timer = kernel.waiting.find(({ label }) => label === undefined);
    if (timer !== undefined) await kernel.runNow(timer);
  }

  /** What is due in a process at this moment needs nobody's decision. */
  async #settle(): Promise<void> {
    const { kernel } = this.#world;
    for (;;) {
      const due = kernel.waiting.find(
        ({ label, at }) => label === undefined && at <= kernel.elapsed,
      );
      if (due === undefined) return;
      await kernel.runNow(due);
    }
  }
}

const SERVERS = new Set(["kube", "iam"]);
const FINAL = [
  "L1 declared state",
  "S4 issues",
  "S4 accounts",
  "S5 accounting",
  "S5 keys accounted",
  "pending removed",
  "no crash",
];

const ACCOUNTING = ["S5 accounting", "S5 keys accounted"];

/** Reads of Kubernetes and renewals of the lease come in between anyway. */
function matters(call: CallRecord | undefined): boolean {
  if (call === undefined || call.operation.endsWith(" leases")) return false;
  return call.mutating || call.server === "iam";
}

function createObjects(world: SimWorld, keys: readonly string[]): void {
  const serviceAccountRef = { name: "ci-bot" };
  world.create(clusterConnectionType, { metadata: { name: "default" }, spec: connectionSpec });
  world.create(serviceAccountType, {
    metadata: { name: "ci-bot", namespace: NAMESPACE },
    spec: {},
  });
  for (const name of keys)
    world.create(apiKeyType, {
      metadata: { name, namespace: NAMESPACE },
      spec: { serviceAccountRef },
    });
}

function isDone(world: SimWorld): boolean {
  if (everythingIsReady(world) !== undefined) return false;
  if (ACCOUNTING.some((name) => endChecks[name]?.({ world } as never) !== undefined)) return false;
  const isSettled = apiKeysOf(world).every(({ status }) => status?.attempt === undefined);
  return isSettled && endChecks["pending removed"]?.({ world } as never) === undefined;
}
