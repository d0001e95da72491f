/** Watches a world while it runs, and says what did not hold. */

import { MINUTE } from "../../src/util/time.ts";
import { DEFAULT_CREDENTIALS } from "../iam-server/seed.ts";
import type { Change as ConsoleChange } from "../iam-server/world.ts";
import type { Change } from "./api-server/storage.ts";
import { gapOf, leakIn, strayCall, unfenced } from "./invariants/always.ts";
import { type End, endChecks } from "./invariants/at-rest.ts";
import { changeChecks } from "./invariants/on-change.ts";
import { consoleChecks } from "./invariants/on-console.ts";
import { apiKeysOf, asSecret, keyIdsIn } from "./invariants/view.ts";
import type { SimWorld } from "./sim-world.ts";

export interface Violation {
  readonly invariant: string;
  readonly what: string;
  /** Virtual milliseconds since the start. */
  readonly at: number;
}

export class Invariants {
  readonly violations: Violation[] = [];
  readonly #world: SimWorld;
  readonly #delivered = new Set<string>();
  readonly #wereReady = new Set<string>();
  #calls = 0;
  #consoleChanges = 0;
  #logs = 0;
  #checkedRevision = 0;
  #checkedAt = 0;

  constructor(world: SimWorld) {
    this.#world = world;
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
    if (change.kind.type.kind === "Secret") {
      for (const keyId of keyIdsIn(asSecret(change.object))) this.#delivered.add(keyId);
    }
    const byOperator = world.kube.actor === "operator";
    if (!byOperator) world.noteMeddling(change);
    const seen = { world, change, byOperator, delivered: this.#delivered };
    for (const [invariant, check] of Object.entries(changeChecks))
      this.#report(invariant, check(seen));
    if (
      change.kind.type.kind !== "Secret" &&
      leakIn(JSON.stringify(change.object), this.#secrets())
    ) {
      this.#report("S13 leak", `${change.kind.type.kind} shows a secret`);
    }
  }

  #afterEvent(): void {
    const world = this.#world;
    const { journal } = world.console.world;
    for (; this.#consoleChanges < journal.length; this.#consoleChanges += 1) {
      this.#onConsoleChange(journal[this.#consoleChanges] as ConsoleChange);
    }
    for (; this.#calls < world.journal.calls.length; this.#calls += 1) {
      const call = world.journal.calls[this.#calls];
      if (call !== undefined) this.#report("S8 fence", unfenced(world, call));
    }
    for (; this.#logs < world.logs.length; this.#logs += 1) {
      if (!leakIn(world.logs[this.#logs] ?? "", this.#secrets())) continue;
      this.#report("S13 leak", "a log line shows a secret");
    }
    this.#report("S14 origin", strayCall(world));
    this.#checkGap();
  }

  #onConsoleChange(change: ConsoleChange): void {
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
      const { uid } = apiKey.metadata;
      const isReady = apiKey.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      if (isReady) this.#wereReady.add(uid);
      if (this.#wereReady.has(uid)) this.#report("S2 no gap", gapOf(world, apiKey));
    }
  }

  #secrets(): readonly string[] {
    return [...this.#world.console.world.issuedSecrets(), DEFAULT_CREDENTIALS.password];
  }

  /** The same is said once. */
  #report(invariant: string, what: string | undefined): void {
    if (what === undefined) return;
    if (this.violations.some((each) => each.invariant === invariant && each.what === what)) return;
    this.violations.push({ invariant, what, at: Math.round(this.#world.kernel.elapsed) });
  }
}
