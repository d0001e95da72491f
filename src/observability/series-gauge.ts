import type { Registry } from "prom-client";
import { keep } from "../util/kept.ts";
import { CollectedGauge, type Sample } from "./collected-gauge.ts";

/** Series by label values, one level for each label; the last level contains the values of the series. */
type Level = Map<string, Level | number>;

/**
 * A gauge whose series are set and removed one by one. prom-client's own gauge keeps a text and a labels object for
 * each series.
 */
export class SeriesGauge<Label extends string> extends CollectedGauge<Label> {
  readonly #series: Level = new Map();

  constructor(name: string, help: string, labelNames: readonly Label[], registry: Registry) {
    super(name, help, labelNames, registry);
    this.collectFrom(() => this.#samples(this.#series, []));
  }

  set(labels: Readonly<Record<Label, string>>, value: number): void {
    // Labels are often cut out of longer texts, which must not stay in memory with them.
    const path = this.#pathOf(labels).map((label) => keep(label).value);
    const last = path.pop() ?? "";
    let level = this.#series;
    for (const step of path) {
      const found = level.get(step);
      const next: Level = found instanceof Map ? found : new Map();
      level.set(step, next);
      level = next;
    }
    level.set(last, value);
  }

  /** Removes every series with these values of the first labels. */
  remove(labels: Readonly<Partial<Record<Label, string>>>): void {
    removeFrom(this.#series, this.#pathOf(labels));
  }

  *#samples(level: Level, path: readonly string[]): Generator<Sample<Label>> {
    for (const [step, next] of level) {
      const steps = [...path, step];
      if (next instanceof Map) yield* this.#samples(next, steps);
      else yield { labels: this.#labelsOf(steps), value: next };
    }
  }

  #labelsOf(path: readonly string[]): Readonly<Record<Label, string>> {
    const labels = this.labelNames.map((name, index) => [name, path[index] ?? ""]);
    return Object.fromEntries(labels) as Record<Label, string>;
  }

  #pathOf(labels: Readonly<Partial<Record<Label, string>>>): string[] {
    return this.labelNames.flatMap((name) => labels[name] ?? []);
  }
}

/** Also removes levels that become empty. */
function removeFrom(level: Level, [step = "", ...rest]: readonly string[]): void {
  const next = level.get(step);
  if (rest.length > 0 && next instanceof Map) {
    removeFrom(next, rest);
    if (next.size > 0) return;
  }
  level.delete(step);
}
