import type { Gauge, Registry } from "prom-client";

/** Series by the values of their labels, one label a level; the last level has the series' values. */
type Level = Map<string, Level | number>;

/**
 * A gauge of many series that come and go with the objects they tell of. prom-client's own keeps a text and an object of
 * labels for each series, which for many objects is more than the objects themselves take.
 */
export class SeriesGauge<Label extends string> {
  readonly type = "gauge";
  readonly aggregator = "sum";
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  #series: Level = new Map();

  constructor(name: string, help: string, labelNames: readonly Label[], registry: Registry) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    // What a registry needs of a gauge is what is here.
    registry.registerMetric(this as unknown as Gauge<Label>);
  }

  set(labels: Readonly<Record<Label, string>>, value: number): void {
    const path = this.#pathOf(labels);
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

  /** Removes every series that has these values of the first labels. */
  remove(labels: Readonly<Partial<Record<Label, string>>>): void {
    removeFrom(this.#series, this.#pathOf(labels));
  }

  reset(): void {
    this.#series = new Map();
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: [...this.#values(this.#series, [])] };
  }

  *#values(level: Level, path: readonly string[]): Generator<LabeledValue> {
    for (const [step, next] of level) {
      const steps = [...path, step];
      if (next instanceof Map) yield* this.#values(next, steps);
      else yield { labels: this.#labelsOf(steps), value: next };
    }
  }

  #labelsOf(path: readonly string[]): Readonly<Record<string, string>> {
    return Object.fromEntries(this.labelNames.map((name, index) => [name, path[index] ?? ""]));
  }

  #pathOf(labels: Readonly<Partial<Record<Label, string>>>): string[] {
    return this.labelNames.flatMap((name) => labels[name] ?? []);
  }
}

interface LabeledValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Levels that have become empty go as well. */
function removeFrom(level: Level, [step = "", ...rest]: readonly string[]): void {
  const next = level.get(step);
  if (rest.length > 0 && next instanceof Map) {
    removeFrom(next, rest);
    if (next.size > 0) return;
  }
  level.delete(step);
}
