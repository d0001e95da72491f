import type { Gauge, Registry } from "prom-client";

/** A series and its value. */
export interface Sample<Label extends string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

/** A gauge that collects its series at each scrape and keeps nothing in between. */
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
    // Has every member that a registry uses of a gauge.
    registry.registerMetric(this as unknown as Gauge<Label>);
  }

  /** From now on, scrapes show the collected series; before that, the gauge has no series. */
  collectFrom(collect: () => Iterable<Sample<Label>>): void {
    this.#collect = collect;
  }

  /** The text of a scrape, `size` series at a time, because all series at once may not fit into the heap. */
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
