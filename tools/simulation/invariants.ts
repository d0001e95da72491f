/** Watches a world while it runs, and says what did not hold. */

import { MINUTE } from "../../src/util/time.ts";
import type { Change } from "../api-server/storage.ts";
import type { Change as ConsoleChange } from "../iam-server/world.ts";
import { gapOf, isEndedOutside, strayCall } from "./invariants/always.ts";
import { type End, endChecks } from "./invariants/at-rest.ts";
import { Circumstances } from "./invariants/circumstances.ts";
import { LeakSearch } from "./invariants/leak-search.ts";
import { changeChecks } from "./invariants/on-change.ts";
import { consoleChecks } from "./invariants/on-console.ts";
import { apiKeysOf, asSecret, keyIdsIn } from "./invariants/view.ts";
import type { Watcher } from "./invariants/watcher.ts";
import { watchers } from "./invariants/watchers.ts";
import type { CallRecord } from "./journal.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Violation {
  readonly invariant: string;
  readonly what: string;
  /** Virtual milliseconds since the start. */
  readonly at: number;
}

const CHANGE_CHECKS = Object.entries(changeChecks);

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #world: SimWorld;
  readonly #watchers: readonly (readonly [invariant: string, watcher: Watcher])[];
  readonly #watching: readonly (readonly [invariant: string, after: () => string | undefined])[];
  readonly #circumstances: Circumstances;
  readonly #leaks: LeakSearch;
  readonly #delivered = new Set<string>();
  readonly #wereReady = new Set<string>();
  #calls = 0;
  #consoleChanges = 0;
  #logs = 0;
  #checkedRevision = 0;
  #checkedAt = 0;

  constructor(world: SimWorld) {
    this.#world = world;
    this.#circumstances = new Circumstances(world);
    this.#leaks = new LeakSearch(world);
    this.#watchers = Object.entries(watchers).map(
      ([invariant, create]) => [invariant, create(world, this.#circumstances)] as const,
    );
    this.#watching = this.#watchers.flatMap(([invariant, { afterEvent }]) =>
      afterEvent === undefined ? [] : [[invariant, afterEvent] as const],
    );
    world.kube.storage.subscribe((change) => this.#onChange(change));
    world.kernel.afterEachEvent(() => this.#afterEvent());
  }

  /** The last word, once the world has come to rest. */
  checkEnd(end: Omit<End, "world">): void {
    for (const [invariant, check] of Object.entries(endChecks)) {
      this.#report(invariant, check({ ...end, world: this.#world }));
    }
  }

  #onChange(change: Change): void {
    const world = this.#world;
    const { kind } = change.kind.type;
    if (kind === "Secret") {
      for (const keyId of keyIdsIn(asSecret(change.object))) this.#delivered.add(keyId);
    }
    const byOperator = world.kube.actor === "operator";
    if (!byOperator) world.noteMeddling(change);
    const seen = { world, change, byOperator, delivered: this.#delivered };
    for (const [invariant, watcher] of this.#watchers)
      this.#report(invariant, watcher.onChange?.(seen));
    for (const [invariant, check] of CHANGE_CHECKS) this.#report(invariant, check(seen));
    if (kind !== "Secret" && kind !== "Lease" && this.#leaks.finds(JSON.stringify(change.object)))
      this.#report("S13 leak", `${kind} shows a secret`);
  }

  #afterEvent(): void {
    const world = this.#world;
    const { journal } = world.console.world;
    for (; this.#consoleChanges < journal.length; this.#consoleChanges += 1) {
      this.#onConsoleChange(journal[this.#consoleChanges] as ConsoleChange);
    }
    const { calls } = world.journal;
    for (; this.#calls < calls.length; this.#calls += 1) {
      this.#onCall(calls[this.#calls] as CallRecord);
    }
    this.#circumstances.afterEvent();
    for (; this.#logs < world.logs.length; this.#logs += 1) {
      if (!this.#leaks.finds(world.logs[this.#logs] ?? "")) continue;
      this.#report("S13 leak", "a log line shows a secret");
    }
    for (const [invariant, afterEvent] of this.#watching) this.#report(invariant, afterEvent());
    this.#report("S14 origin", strayCall(world));
    this.#checkGap();
  }

  #onCall(call: CallRecord): void {
    this.#circumstances.onCall(call);
    for (const [invariant, watcher] of this.#watchers)
      this.#report(invariant, watcher.onCall?.(call));
  }

  #onConsoleChange(change: ConsoleChange): void {
    const byOperator = this.#world.console.ownChanges.has(change);
    for (const [invariant, watcher] of this.#watchers)
      this.#report(invariant, watcher.onConsoleChange?.(change, byOperator));
    for (const [invariant, check] of Object.entries(consoleChecks)) {
      this.#report(invariant, check(this.#world, change));
    }
  }

  #checkGap(): void {
    const world = this.#world;
    const { elapsed } = world.kernel;
    const { revision } = world.kube.storage;
    // Between changes only time can break it.
    if (revision === this.#checkedRevision && elapsed < this.#checkedAt + MINUTE) return;
    this.#checkedRevision = revision;
    this.#checkedAt = elapsed;
    if (world.hasMeddled) return;
    for (const apiKey of apiKeysOf(world)) {
      const { uid, deletionTimestamp } = apiKey.metadata;
      if (deletionTimestamp !== undefined) continue;
      const isReady = apiKey.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      if (isReady) this.#wereReady.add(uid);
      if (this.#wereReady.has(uid) && !isEndedOutside(world, apiKey, this.#circumstances.usableMs))
        this.#report("S2 no gap", gapOf(world, apiKey));
    }
  }

  /** The same is said once. */
  #report(invariant: string, what: string | undefined): void {
    if (what === undefined) return;
    if (this.violations.some((each) => each.invariant === invariant && each.what === what)) return;
    this.violations.push({ invariant, what, at: Math.round(this.#world.kernel.elapsed) });
  }
}
