/** Which suite notices which mutant: `matrix.tsv`, a line for each mutant, ordered by name. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const SUITES = ["unit", "simulation", "chart"] as const;
export type Suite = (typeof SUITES)[number];

/** The test that notices the mutant, or `missed: ` and the reason. Absent: not run. */
export type Row = Readonly<Partial<Record<Suite, string>>>;
export type Matrix = ReadonlyMap<string, Row>;

const FILE = join(import.meta.dirname, "matrix.tsv");
const NOT_RUN = "";
const HEADER = `\
# Which suite notices which seeded bug (tools/mutants/*.mutants); written by \`npm run mutants -- --record\`, reasons by hand.
# A cell holds the test or the run of the simulation that notices the bug, \`missed:\` and the reason, or nothing if not run.
# The chart suite runs for the chart's bugs, and only it; comparisons of whole renderings (golden files, deploy/) are left out.
${["mutant", ...SUITES].join("\t")}
`;
const MISSED = "missed: ";
const UNEXPLAINED = `${MISSED}no promise is broken by the stories, scenarios and faults that are tried`;

export function readMatrix(): Matrix {
  const lines = readFileSync(FILE, "utf8").slice(HEADER.length).trimEnd().split("\n");
  return new Map(lines.map((line) => rowOf(line.split("\t"))));
}

function rowOf([name = "", ...cells]: readonly string[]): readonly [string, Row] {
  const known = SUITES.map((suite, index) => [suite, cells[index] ?? NOT_RUN] as const);
  return [name, Object.fromEntries(known.filter(([, cell]) => cell !== NOT_RUN))];
}

/** Keeps only the mutants with one of these names. */
export function writeMatrix(matrix: Matrix, names: readonly string[]): void {
  const lines = names.toSorted().map((name) => {
    const row = matrix.get(name) ?? {};
    const cells = SUITES.map((suite) => row[suite] ?? NOT_RUN);
    // Empty last cells are left out, so that no line ends with a tab.
    return [name, ...cells].join("\t").replace(/\t+$/, "");
  });
  writeFileSync(FILE, `${HEADER}${lines.join("\n")}\n`);
}

/** The test that notices the mutant. */
export function noticedBy(row: Row | undefined, suite: Suite): string | undefined {
  const cell = row?.[suite];
  return cell?.startsWith(MISSED) === true ? undefined : cell;
}

/** A known reason stays as long as the suite misses the mutant. */
export function withResult(matrix: Matrix, name: string, suite: Suite, test?: string): Matrix {
  const row = matrix.get(name);
  const reason = noticedBy(row, suite) === undefined ? row?.[suite] : undefined;
  return new Map([...matrix, [name, { ...row, [suite]: test ?? reason ?? UNEXPLAINED }]]);
}
