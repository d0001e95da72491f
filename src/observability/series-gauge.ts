import { Gauge, type Registry } from "prom-client";

/** A gauge whose series can be removed by some of their labels; prom-client removes by all of them only. */
export class SeriesGauge<Label extends string> {
  readonly #gauge: Gauge<Label>;
  readonly #series = new Map<string, Readonly<Record<Label, string>>>();

  constructor(name: string, help: string, labelNames: readonly Label[], registry: Registry) {
    this.#gauge = new Gauge({ name, help, labelNames, registers: [registry] });
  }

  set(labels: Readonly<Record<Label, string>>, value: number): void {
    this.#series.set(JSON.stringify(labels), labels);
    this.#gauge.set(labels, value);
  }

  /** Removes every series that has all of these label values. */
  removeWhere(match: Readonly<Partial<Record<Label, string>>>): void {
    const wanted = Object.entries(match);
    for (const [text, labels] of this.#series) {
      if (!wanted.every(([label, value]) => labels[label as Label] === value)) continue;
      this.#series.delete(text);
      this.#gauge.remove(labels);
    }
  }
}
