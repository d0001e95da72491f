/** Faults that come and go with time, as they do in a data centre: outages, and now and then a lost answer. */
import { DAY, HOUR, MINUTE } from "../../src/util/time.ts";
import type { SeededRandom } from "../../test/support/seeded-random.ts";
import {
  type CallFault,
  type FaultedCall,
  FaultPlan,
  NO_FAULTS,
  type ServerName,
} from "./faults.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Outage {
  readonly server: ServerName;
  readonly from: number;
  readonly until: number;
  readonly fault: CallFault;
}

/** How often something befalls a call that is not part of an outage. */
const STRAY = 1 / 1_000;
const BETWEEN_OUTAGES_MS = 4 * DAY;
const BETWEEN_CRASHES_MS = 10 * DAY;

const DOWN: readonly CallFault[] = [
  { kind: "Refuse", status: 503 },
  { kind: "Silence", when: "BeforeCommit" },
  { kind: "Reset", when: "BeforeCommit" },
];
const STRAYS: readonly CallFault[] = [
  { kind: "Reset", when: "AfterCommit" },
  { kind: "Silence", when: "AfterCommit" },
  { kind: "Reset", when: "BeforeCommit" },
  { kind: "Refuse", status: 500 },
  { kind: "Garble", how: "NotJson" },
  { kind: "Crash", when: "AfterCommit" },
];

export class FaultSchedule extends FaultPlan {
  /** In the order in which they begin. */
  readonly outages: Outage[] = [];
  readonly #random: SeededRandom;
  #world: SimWorld | undefined;

  constructor(random: SeededRandom) {
    super(NO_FAULTS);
    this.#random = random;
  }

  /** Lets it rage over a world until `until`. */
  begin(world: SimWorld, until: number): void {
    this.#world = world;
    this.#forecast(world.kernel.elapsed, until);
    this.#crashLater(world, until);
  }

  /** Whether a server was out of order at some time between two. */
  wasOut(server: ServerName, from: number, until: number): boolean {
    return this.outages.some(
      (each) => each.server === server && each.from <= until && each.until >= from,
    );
  }

  override strike(call: FaultedCall): CallFault | undefined {
    const now = this.#world?.kernel.elapsed;
    if (now === undefined) return undefined;
    const outage = this.outages.find(
      ({ server, from, until }) => server === call.server && from <= now && now < until,
    );
    if (outage !== undefined) return outage.fault;
    return this.#random.chance(STRAY) ? this.#random.pick(STRAYS) : undefined;
  }

  #forecast(start: number, end: number): void {
    const random = this.#random;
    for (let at = start; at < end; ) {
      at += random.fraction() * 2 * BETWEEN_OUTAGES_MS;
      const until = at + durationOf(random);
      if (until >= end) return;
      const server = random.chance(0.7) ? "iam" : "kube";
      this.outages.push({ server, from: at, until, fault: random.pick(DOWN) });
      at = until;
    }
  }

  #crashLater(world: SimWorld, until: number): void {
    world.kernel.schedule(this.#random.fraction() * 2 * BETWEEN_CRASHES_MS, () => {
      if (world.kernel.elapsed >= until) return;
      world.process?.crash();
      this.#crashLater(world, until);
    });
  }
}

/** Minutes mostly, hours at times, and a day or three once a year. */
function durationOf(random: SeededRandom): number {
  const luck = random.fraction();
  if (luck < 0.7) return MINUTE + random.below(30 * MINUTE);
  return luck < 0.98 ? HOUR + random.below(5 * HOUR) : DAY + random.below(2 * DAY);
}
