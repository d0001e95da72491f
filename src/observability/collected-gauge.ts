import type { Gauge, Registry } from "prom-client";

/** One series and its value. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

/** A gauge whose series are collected when there is a scrape: nothing is kept for them in between. */
export class CollectedGauge<Label extends string> {
  readonly type = "gauge";
  readonly aggregator = "sum";
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly Label[];
  #collect: () => Iterable<Sample<Label>> = () => [];

  constructor(name: string, help: string, labelNames: readonly Label[], registry: Registry) {
    this.name = name;
    this.help = help;
    this.labelNames = labelNames;
    // What a registry needs of a gauge is what is here.
    registry.registerMetric(this as unknown as Gauge<Label>);
  }

  /** From now on, scrapes show what this answers; before, the gauge has no series. */
  collectFrom(collect: () => Iterable<Sample<Label>>): void {
    this.#collect = collect;
  }

  /** What a scrape gets, `size` series at a time: all of them at once may be more than the heap holds. */
  *texts(size: number): Generator<string> {
    let lines = [`# HELP ${this.name} ${this.help}`, `# TYPE ${this.name} ${this.type}`];
    for (const { labels, value } of this.#collect()) {
      if (lines.length >= size) {
        yield `${lines.join("\n")}\n`;
        lines = [];
      }
      lines.push(`${this.name}{${textOf(labels)}} ${valueText(value)}`);
    }
    yield `${lines.join("\n")}\n`;
  }

  async get() {
    const { name, help, type, aggregator } = this;
    return { name, help, type, aggregator, values: [...this.#collect()] };
  }
}

function textOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\\n"]/g, escaped)}"`)
    .join(",");
}

function escaped(character: string): string {
  return character === "\n" ? "\\n" : `\\${character}`;
}

function valueText(value: number): string {
  return Number.isFinite(value) || Number.isNaN(value) ? `${value}` : value > 0 ? "+Inf" : "-Inf";
}
