/**
 * Many ApiKeys for a long time, with outages, lost answers and crashes: nobody is ever without a valid pair, no key
 * is unaccounted for, and renewals do not come in herds.
 *
 * Looks that only ask whether all is as it was are made every other day and not every five minutes: they would be
 * nearly all of the run.
 */
import { setImmediate as eventLoopTurned } from "node:timers/promises";
import { secretType } from "../../src/kube/resource-types.ts";
import {
  apiKeyType,
  clusterConnectionType,
  policyBindingType,
  serviceAccountType,
} from "../../src/resources/resource-types.ts";
import { DAY, HOUR, parseInstant } from "../../src/util/time.ts";
import { seededRandom } from "../../test/support/seeded-random.ts";
import { FaultSchedule, type Outage } from "./fault-schedule.ts";
import { NO_FAULTS } from "./faults.ts";
import {
  apiKeysOf,
  asSecret,
  issuerOf,
  pairOf,
  placeOf,
  type StoredApiKey,
} from "./invariants/view.ts";
import type { Violation } from "./invariants.ts";
import { inNamespace, READ } from "./scenarios.ts";
import { connectionSpec, SimWorld } from "./sim-world.ts";

export interface YearsOptions {
  readonly years: number;
  readonly keys: number;
  readonly seed: number;
  /** Told after every virtual month. */
  readonly onProgress?: (line: string) => void;
}

export interface Years {
  readonly issued: number;
  readonly orphaned: number;
  readonly outages: readonly Outage[];
  readonly crashes: number;
  /** Renewals by hour since the start; those that an outage had held up are left out. */
  readonly renewals: readonly number[];
  /** Renewals that an outage, a crash or a lost answer had held up. */
  readonly late: number;
  readonly violations: readonly Violation[];
}

const YEAR = 365 * DAY;
const ACCOUNTS = 2;
/** People make their keys one after the other, over as long as it takes for the first ones to be renewed. */
const MADE_WITHIN_MS = 60 * DAY;
const AT_REST_MS = HOUR;
/** How long a renewal that something held up may take once it is over. */
const CATCH_UP_MS = 2 * HOUR;

export async function liveForYears({
  years,
  keys,
  seed,
  onProgress = () => undefined,
}: YearsOptions): Promise<Years> {
  const random = seededRandom(`years:${seed}`);
  const schedule = new FaultSchedule(random.fork("schedule"));
  const world = new SimWorld({
    seed,
    plan: NO_FAULTS,
    faults: schedule,
    flags: ["--leader-elect=false"],
    timing: { secretCheckMs: 2 * DAY },
    shapes: { keyRecords: "strings", deadKeys: "hidden" },
  });
  const log = new YearsLog(world, schedule);
  world.startOperator();
  makeAccounts(world);
  await world.kernel.advance(HOUR);
  for (let index = 0; index < keys; index += 1) {
    world.kernel.schedule(random.fraction() * MADE_WITHIN_MS, () => makeKey(world, index));
  }
  const until = years * YEAR;
  schedule.begin(world, until - AT_REST_MS);
  while (world.kernel.elapsed < until) {
    await world.kernel.advance(HOUR);
    // Whatever a weak reference was asked for is kept until the event loop turns.
    await eventLoopTurned();
    log.look();
    if (world.kernel.elapsed % (30 * DAY) < HOUR) onProgress(log.summary());
  }
  return log.end();
}

function makeAccounts(world: SimWorld): void {
  world.create(clusterConnectionType, { metadata: { name: "default" }, spec: connectionSpec });
  for (let index = 0; index < ACCOUNTS; index += 1) {
    const name = `account-${index}`;
    world.create(serviceAccountType, { metadata: inNamespace(name), spec: {} });
    const spec = { serviceAccountRef: { name }, policyIds: [READ] };
    world.create(policyBindingType, { metadata: inNamespace(name), spec });
  }
}

function makeKey(world: SimWorld, index: number): void {
  const serviceAccountRef = { name: `account-${index % ACCOUNTS}` };
  world.create(apiKeyType, { metadata: inNamespace(`key-${index}`), spec: { serviceAccountRef } });
}

class YearsLog {
  readonly #world: SimWorld;
  readonly #schedule: FaultSchedule;
  readonly #violations = new Map<string, Violation>();
  readonly #wereReady = new Set<string>();
  readonly #renewals: number[] = [];
  /** When each object's key was due, as its status said. */
  readonly #due = new Map<string, number>();
  #late = 0;
  #consoleChanges = 0;

  constructor(world: SimWorld, schedule: FaultSchedule) {
    this.#world = world;
    this.#schedule = schedule;
    world.kernel.afterEachEvent(() => this.#count());
  }

  /** Once an hour. */
  look(): void {
    const world = this.#world;
    for (const apiKey of apiKeysOf(world)) this.#lookAt(apiKey);
    // Nobody looks back at what was said and done.
    world.logs.length = 0;
    world.journal.calls.length = 0;
    world.journal.watched.length = 0;
  }

  summary(): string {
    const { kernel, console } = this.#world;
    const days = Math.round(kernel.elapsed / DAY);
    return `day ${days}: ${console.world.keys.size} keys issued, ${this.#violations.size} violations`;
  }

  end(): Years {
    const { console, crashes } = this.#world;
    this.#account();
    return {
      issued: console.world.keys.size,
      orphaned: apiKeysOf(this.#world).flatMap(({ status }) => status?.orphaned ?? []).length,
      outages: this.#schedule.outages,
      crashes,
      renewals: Array.from(this.#renewals, (count = 0) => count),
      late: this.#late,
      violations: [...this.#violations.values()],
    };
  }

  #lookAt(apiKey: StoredApiKey): void {
    const { name } = apiKey.metadata;
    const due = parseInstant(apiKey.status?.renewalTime);
    if (due !== undefined) this.#due.set(placeOf(apiKey), due);
    const ready = apiKey.status?.conditions?.find(({ type }) => type === "Ready");
    if (ready?.status === "True") this.#wereReady.add(name);
    if (!this.#wereReady.has(name)) return;
    const secret = this.#world.get(secretType, name);
    const pair = secret && pairOf(asSecret(secret));
    const refusal =
      pair === undefined ? "there is none" : this.#world.console.world.whyKeyIsRefused(pair.keyId);
    if (refusal !== undefined)
      this.#report("S2 no gap", `the key of ${name} is refused: ${refusal}`);
  }

  #count(): void {
    const { journal } = this.#world.console.world;
    for (; this.#consoleChanges < journal.length; this.#consoleChanges += 1) {
      const change = journal[this.#consoleChanges];
      if (change?.kind === "keyIssued") this.#countIssue(change.keyId);
    }
  }

  /** Renewals by the hour, if they come when they were due. */
  #countIssue(keyId: string): void {
    const { kernel, console } = this.#world;
    const issuer = issuerOf(console.world.keys.get(keyId)?.description ?? "");
    const due = this.#due.get(issuer?.key ?? "");
    if (due === undefined) return;
    if (kernel.now > due + CATCH_UP_MS / 2 || this.#wasHeldUp(due)) {
      this.#late += 1;
      return;
    }
    const hour = Math.floor(kernel.elapsed / HOUR);
    this.#renewals[hour] = (this.#renewals[hour] ?? 0) + 1;
  }

  #wasHeldUp(due: number): boolean {
    const { kernel } = this.#world;
    const from = kernel.elapsed - (kernel.now - due) - CATCH_UP_MS;
    return (
      this.#schedule.wasOut("iam", from, kernel.elapsed) ||
      this.#schedule.wasOut("kube", from, kernel.elapsed)
    );
  }

  /** [S5] Every key that can still be used is somebody's, or told as lost. */
  #account(): void {
    const { world } = this.#world.console;
    const known = new Set(
      apiKeysOf(this.#world).flatMap(({ status }) => [
        status?.current?.keyId,
        ...(status?.superseded ?? []).map(({ keyId }) => keyId),
        ...(status?.orphaned ?? []).map(({ keyId }) => keyId),
      ]),
    );
    for (const { keyId, expirationTime } of world.keys.values()) {
      if (expirationTime > this.#world.kernel.now && !known.has(keyId))
        this.#report("S5 accounting", `no status accounts for ${keyId}`);
    }
  }

  #report(invariant: string, what: string): void {
    const at = Math.round(this.#world.kernel.elapsed);
    if (!this.#violations.has(what)) this.#violations.set(what, { invariant, what, at });
  }
}
