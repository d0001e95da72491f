/** Says at the end of a run what there is to run besides. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Reporter } from "vitest/node";

const suites: Readonly<Record<string, string>> = {
  "test:all": "all of them, the long ones too",
  "chart:test": "the helm chart on real API servers",
  e2e: "image, chart and workloads on a real node",
  sim: "the operator in a simulated world, under faults",
  chaos: "real processes, killed, frozen and cut off under load",
  mutants: "whether the tests notice seeded bugs",
  bench: "start-up, memory, and time for 1,000 keys",
  soak: "memory and delays over two hours of rotations",
  check: "types, lint, import rules, generated files",
};

export class ClosingWords implements Reporter {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  onTestRunEnd(): void {
    const lines = this.#others().map(([name, what]) => `  npm run ${name.padEnd(10)} ${what}`);
    // Behind the summary, which the default reporter prints on the same occasion.
    setImmediate(() => console.log(`\nThere is more:\n${lines.join("\n")}`));
  }

  /** Of the suites known by name, those that package.json has, without the one that has just run. */
  #others(): readonly (readonly [string, string])[] {
    const { scripts } = JSON.parse(readFileSync(join(this.#root, "package.json"), "utf8"));
    const current = process.env.npm_lifecycle_event;
    return Object.entries(suites).filter(([name]) => name in scripts && name !== current);
  }
}
