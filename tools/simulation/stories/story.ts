/**
 * Short stories about what happens to users, with the faults told where they happen. A story is a run without a plan:
 * all invariants watch it, and it says itself what else has to be so.
 */
import { setImmediate as eventLoopTurned } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { Condition } from "../../../src/api/conditions.ts";
import { annotations } from "../../../src/api/meta.ts";
import type { ResourceType } from "../../../src/kube/resource.ts";
import { eventType, secretType } from "../../../src/kube/resource-types.ts";
import { apiKeyType } from "../../../src/resources/resource-types.ts";
import { MINUTE, SECOND } from "../../../src/util/time.ts";
import { isTree, listAt, type Tree, treeAt } from "../../api-server/tree.ts";
import {
  type CallFault,
  type Fault,
  FaultPlan,
  type WatchFault,
  type WorldEvent,
} from "../faults.ts";
import { endChecks, everythingIsReady } from "../invariants/at-rest.ts";
import { apiKeysOf, type StoredApiKey } from "../invariants/view.ts";
import { Invariants, type Violation } from "../invariants.ts";
import { NAMESPACE } from "../places.ts";
import { createAll, type SpecChanges } from "../scenarios.ts";
import { type ConsoleSettings, SimWorld } from "../sim-world.ts";
import { happen } from "../world-events.ts";

export interface StoryOptions {
  readonly flags?: readonly string[];
  /** What the console is like. */
  readonly console?: ConsoleSettings;
  /** Whether every object is Ready in the end, as is usual. */
  readonly endsReady?: boolean;
  /** Takes more of the processor than others: told last while a seeded bug is looked for. */
  readonly isLong?: boolean;
  /** Invariants that the story breaks on purpose. */
  readonly excuses?: readonly string[];
}

export interface Story extends StoryOptions {
  readonly name: string;
  readonly tell: (world: StoryWorld) => Promise<void>;
}

export function story(name: string, tell: Story["tell"], options: StoryOptions = {}): Story {
  return { name, tell, ...options };
}

/** A story after which not every object is Ready. */
export function unready(name: string, tell: Story["tell"], options: StoryOptions = {}): Story {
  return story(name, tell, { ...options, endsReady: false });
}

/** What does not hold where people take away what the operator needs to keep it. */
export const OF_MEDDLING = [
  "readable message",
  "S2 Ready is true",
  "S2 no gap",
  "S10 completeness",
  "S11 S20 releases",
  "pending removed",
];

/** Of one passage of time: more than twice those of the busiest day. */
const MOST_EVENTS = 100_000;
const RECOVERY_MS = 15 * MINUTE;
const END = ["S5 accounting", "pending removed", "no crash"];

/** What did not hold. */
export async function violationsIn(told: Story): Promise<readonly Violation[]> {
  const world = new StoryWorld(told);
  const invariants = new Invariants(world.sim);
  await told.tell(world);
  world.cease();
  if (told.endsReady !== false) await world.expectReady();
  const end = { world: world.sim, epochs: 0, allowance: 0, quietSince: 0, picture: "" };
  for (const name of END) {
    const what = endChecks[name]?.({ ...end, unreached: () => undefined });
    if (what !== undefined) world.says(name, what);
  }
  await eventLoopTurned();
  return [...world.violations, ...invariants.violations].filter(
    ({ invariant }) => !told.excuses?.includes(invariant),
  );
}

export class StoryWorld {
  readonly sim: SimWorld;
  readonly violations: Violation[] = [];
  /** Grows while the story is told. */
  readonly #faults: Fault[] = [];
  readonly #reasons = new Map<string, Set<string>>();

  constructor({ flags = ["--leader-elect=false"], console }: StoryOptions) {
    const plan = { name: "told by the story", faults: this.#faults };
    this.sim = new SimWorld({ ...console, seed: 1, plan, faults: new FaultPlan(plan), flags });
    this.sim.kube.storage.subscribe(({ kind: { type }, object }) => {
      const reason = conditionIn(object, "Ready")?.reason;
      const id = `${type.kind} ${String(treeAt(object, "metadata").name)}`;
      if (reason !== undefined)
        this.#reasons.set(id, (this.#reasons.get(id) ?? new Set()).add(reason));
    });
  }

  /** The operator and everything it is to make, half a minute later. */
  async begin(specChanges: SpecChanges = {}): Promise<void> {
    this.sim.startOperator();
    createAll(this.sim, specChanges);
    await this.pass(MINUTE / 2);
  }

  async pass(ms: number): Promise<void> {
    const { kernel } = this.sim;
    await kernel.run({ until: kernel.elapsed + ms, maxEvents: MOST_EVENTS });
  }

  /** Strikes the next calls of an operation: of the console such as `issueKey`, of Kubernetes such as `get secrets`. */
  fault(operation: string, fault: CallFault, times = 1): void {
    this.#faults.push({ on: "call", select: { operation, nth: 1, times }, fault });
  }

  /** The console does what the next calls of an operation ask for, and its responses are rewritten on the way. */
  rewrite(operation: string, body: (body: string) => string, status = 200): void {
    this.fault(operation, { kind: "Answer", status, body }, 10_000);
  }

  /** Strikes the nth watch of a kind. */
  strikeWatch(plural: string, fault: WatchFault, nth = 1): void {
    this.#faults.push({ on: "watch", plural, nth, fault });
  }

  /** No call goes wrong any more. */
  cease(): void {
    this.sim.faults.cease();
  }

  /** What somebody does who heeds no rules. */
  happens(event: WorldEvent): void {
    this.sim.meddle(() => happen(this.sim, event));
    this.sim.faults.struck.add({ on: "world", afterMs: this.sim.kernel.elapsed, event });
  }

  /** A change of a spec by a user. */
  change(type: ResourceType, name: string, spec: Tree, namespace?: string): void {
    const { status, body } = this.sim.patch(type, name, { spec }, undefined, namespace);
    if (status >= 300) throw new Error(JSON.stringify(body));
  }

  /** Lets time pass until something is so, in steps of a tenth of a second, and at most a minute. */
  async until(isSo: () => boolean): Promise<void> {
    for (let waited = 0; waited < MINUTE && !isSo(); waited += SECOND / 10)
      await this.pass(SECOND / 10);
  }

  annotate(type: ResourceType, name: string, values: Tree): void {
    this.sim.patch(type, name, { metadata: { annotations: values } });
  }

  rotate(token: string, name = "ci"): void {
    this.annotate(apiKeyType, name, { [annotations.rotateRequestedAt]: token });
  }

  key(name = "ci", namespace = NAMESPACE): StoredApiKey {
    const found = apiKeysOf(this.sim).find(
      ({ metadata }) => metadata.name === name && metadata.namespace === namespace,
    );
    if (found === undefined) throw new Error(`there is no ApiKey ${namespace}/${name}`);
    return found;
  }

  /** How many keys the console has issued. */
  get issued(): number {
    return this.sim.console.world.keys.size;
  }

  /** Keys that work at the console, the oldest first. */
  get live(): readonly string[] {
    const { keys } = this.sim.console.world;
    const { now } = this.sim.kernel;
    return [...keys.values()]
      .filter((key) => key.status === "active" && now < key.expirationTime)
      .map(({ keyId }) => keyId);
  }

  /** The entries of a Secret. */
  secret(name = "ci"): Readonly<Record<string, string>> {
    const data = treeAt(this.sim.get(secretType, name) ?? {}, "data");
    return Object.fromEntries(
      Object.entries(data).map(([entry, value]) => [
        entry,
        Buffer.from(String(value), "base64").toString("utf8"),
      ]),
    );
  }

  condition(type: ResourceType, name: string, condition = "Ready", namespace = NAMESPACE) {
    return conditionIn(this.sim.get(type, name, namespace) ?? {}, condition);
  }

  /** Every reason that the Ready condition of an object has given so far. */
  reasons(type: ResourceType, name: string): readonly string[] {
    return [...(this.#reasons.get(`${type.kind} ${name}`) ?? [])];
  }

  /** Reasons of the events about an object, with their notes. */
  events(name: string): readonly string[] {
    return this.sim
      .list(eventType as ResourceType)
      .filter(({ regarding }) => isTree(regarding) && regarding.name === name)
      .map(({ reason, note }) => `${String(reason)}: ${String(note)}`);
  }

  /** How many calls of an operation have been sent. */
  calls(operation: string): number {
    return this.sim.journal.calls.filter((call) => call.operation === operation).length;
  }

  /** What is bound to an account, in order. */
  boundTo(tpn: string): readonly string[] {
    return this.sim.console.world.boundTo(tpn).toSorted();
  }

  /** What the console has bound to the first account, in order. */
  get bound(): readonly string[] {
    return [...this.sim.console.world.bindings.values()].flat().sort();
  }

  /** `true` is what is usually wanted. */
  expect(what: string, found: unknown, ...rest: readonly [wanted?: unknown]): void {
    const wanted = rest.length === 0 ? true : rest[0];
    if (!isDeepStrictEqual(found, wanted))
      this.says(what, `${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`);
  }

  says(invariant: string, what: string): void {
    this.violations.push({ invariant, what, at: Math.round(this.sim.kernel.elapsed) });
  }

  /** Waits until every object is Ready, but not for ever. */
  async expectReady(mostMs = RECOVERY_MS): Promise<void> {
    for (let waited = 0; waited < mostMs; waited += 10 * SECOND) {
      if (everythingIsReady(this.sim) === undefined) return;
      await this.pass(10 * SECOND);
    }
    const what = everythingIsReady(this.sim);
    if (what !== undefined) this.says("L1 declared state", what);
  }
}

/** Makes stories that have these options, and others if given. */
export function storyWith(common: StoryOptions) {
  return (name: string, tell: Story["tell"], options: StoryOptions = {}): Story =>
    story(name, tell, { ...common, ...options });
}

function conditionIn(object: Tree, type: string): Condition | undefined {
  const found = listAt(treeAt(object, "status"), "conditions").find(
    (each) => isTree(each) && each.type === type,
  );
  return found as unknown as Condition | undefined;
}
