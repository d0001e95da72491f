/** Which call, watch or moment was struck by which fault, and how often. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Tally } from "./tally.ts";

type Coverage = Tally["coverage"];

const REPORT = "reports/simulation-coverage";

export interface Summary {
  /** What is struck: operations, kinds of watches, and the world as a whole. */
  readonly struck: number;
  readonly faults: number;
  /** Pairs of the two that some run has had. */
  readonly pairs: number;
  readonly strikes: number;
}

export function summaryOf(coverage: Coverage): Summary {
  const cells = Object.values(coverage).flatMap((row) => Object.entries(row));
  return {
    struck: Object.keys(coverage).length,
    faults: new Set(cells.map(([fault]) => fault)).size,
    pairs: cells.length,
    strikes: cells.reduce((sum, [, times]) => sum + times, 0),
  };
}

/** Writes the table as JSON and as Markdown; answers where the latter is. */
export function writeCoverage(coverage: Coverage): string {
  mkdirSync(dirname(REPORT), { recursive: true });
  writeFileSync(`${REPORT}.json`, JSON.stringify(coverage, null, 1));
  writeFileSync(`${REPORT}.md`, tablesOf(coverage));
  return `${REPORT}.md`;
}

/** One table for each sort of thing that can be struck: faults down, what they strike across. */
function tablesOf(coverage: Coverage): string {
  const sorts: readonly (readonly [string, (row: string) => boolean])[] = [
    ["Calls to Kubernetes", (row) => row.startsWith("kube ")],
    ["Calls to the console", (row) => row.startsWith("iam ")],
    ["Watches", (row) => row.startsWith("watch ")],
    ["The world", (row) => row === "world"],
  ];
  const parts = sorts.map(([title, belongs]) => {
    const rows = Object.entries(coverage).filter(([row]) => belongs(row));
    return `## ${title}\n\n${tableOf(rows)}`;
  });
  return `# What was struck by what, in runs\n\n${parts.join("\n\n")}\n`;
}

function tableOf(rows: readonly (readonly [string, Readonly<Record<string, number>>])[]): string {
  const faults = [...new Set(rows.flatMap(([, cells]) => Object.keys(cells)))].sort();
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [
    line(["", ...faults]),
    line(["---", ...faults.map(() => "--:")]),
    ...rows
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([row, cells]) => line([row, ...faults.map((fault) => String(cells[fault] ?? ""))])),
  ].join("\n");
}
