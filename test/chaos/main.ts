/**
 * Real operator processes on real servers, in trouble: `npm run chaos -- [--quick] [--only NAME] [--json FILE]`.
 * Afterwards the console's books must agree with what the ApiKeys say. Ends with code 1 where they do not.
 */
import { writeFileSync } from "node:fs";
import { readFlags } from "../../scripts/flags.ts";
import type { Stock } from "../real-world/ledger.ts";
import { preferBundle } from "../real-world/program.ts";
import { type Scenario, scenarios, type Told } from "./scenarios.ts";
import { openScene } from "./scene.ts";

const values = readFlags("chaos", {
  json: { type: "string" },
  quick: { type: "boolean", default: false },
  only: { type: "string", multiple: true, default: [] },
});

interface Result extends Told {
  readonly title: string;
  readonly objects: number;
  readonly issued: number;
  readonly unaccounted: number;
  readonly stuck: number;
  readonly surplus: number;
  readonly orphaned: number;
  readonly seconds: number;
  readonly problems: readonly string[];
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));
const startedAt = performance.now();
const isBundle = preferBundle() !== undefined;
console.log(`The operator runs from ${isBundle ? "the bundle" : "its sources"}.`);

const chosen = scenarios.filter(
  ({ name }) => values.only.length === 0 || values.only.includes(name),
);
const perScenario: Record<string, Result> = {};
for (const scenario of chosen) perScenario[scenario.name] = await run(scenario);
const sum = (field: "issued" | "unaccounted" | "stuck" | "surplus" | "orphaned") =>
  Object.values(perScenario).reduce((total, result) => total + result[field], 0);
const report = {
  issued: sum("issued"),
  unaccounted: sum("unaccounted"),
  stuck: sum("stuck"),
  surplus: sum("surplus"),
  orphaned: sum("orphaned"),
  seconds: Math.round((performance.now() - startedAt) / 1_000),
  bundle: isBundle,
  quick: values.quick,
  perScenario,
};
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
summarize();
process.exit(Object.values(perScenario).some(({ problems }) => problems.length > 0) ? 1 : 0);

async function run(scenario: Scenario): Promise<Result> {
  const { name, title, size } = scenario;
  const at = performance.now();
  const elapsed = () => Math.round((performance.now() - at) / 1_000);
  const say = (line: string) => console.log(`  ${String(elapsed()).padStart(4)} s  ${line}`);
  console.log(`\n▸ ${name}: ${title}`);
  const scene = await openScene(values.quick ? size.quick : size.full, say);
  try {
    const { end, ...told } = await scenario.play(scene, values.quick);
    const stock = await scene.settle();
    await end();
    const problems = [...(told.problems ?? []), ...findProblems(scenario, stock, told)];
    const result: Result = {
      title,
      ...told,
      objects: stock.objects,
      issued: stock.issued,
      unaccounted: stock.unaccounted.length,
      stuck: stock.stuck.length,
      surplus: stock.surplus,
      orphaned: stock.orphaned,
      seconds: elapsed(),
      problems,
    };
    say(problems.length === 0 ? "in order" : problems.join("\n          "));
    return result;
  } finally {
    await scene.close();
  }
}

function findProblems(scenario: Scenario, stock: Stock, told: Told): readonly string[] {
  const { unaccounted, stuck, surplus, orphaned, falseOrphans, doubled } = stock;
  const some = (list: readonly string[]) => list.slice(0, 5).join("; ");
  const allowed = scenario.mayLoseKeys ? told.lossesAtKills : 0;
  const findings: readonly (readonly [boolean, string])[] = [
    [unaccounted.length > 0, `${unaccounted.length} keys unaccounted for: ${some(unaccounted)}`],
    [stuck.length > 0, `${stuck.length} objects stuck: ${some(stuck)}`],
    [falseOrphans.length > 0, `${falseOrphans.length} false orphans: ${some(falseOrphans)}`],
    [doubled.length > 0, `attempts with several keys: ${some(doubled)}`],
    [surplus !== orphaned, `${surplus} surplus keys, but ${orphaned} reported as orphaned`],
    [
      allowed !== undefined && surplus > allowed,
      `${surplus} surplus keys, but only ${allowed} can have been lost`,
    ],
  ];
  return findings.filter(([isSo]) => isSo).map(([, text]) => text);
}

function summarize(): void {
  const columns = [
    "objects",
    "issued",
    "unaccounted",
    "stuck",
    "surplus",
    "orphaned",
    "seconds",
  ] as const;
  const row = (name: string, cells: readonly unknown[]) =>
    console.log(name.padEnd(12) + cells.map((cell) => String(cell).padStart(12)).join(""));
  console.log("");
  row("", columns);
  for (const [name, result] of Object.entries(perScenario))
    row(
      name,
      columns.map((column) => result[column]),
    );
  row("in all", ["", ...columns.slice(1).map((column) => report[column as "issued"])]);
  for (const [name, { problems }] of Object.entries(perScenario))
    for (const problem of problems) console.log(`\n${name}: ${problem}`);
}
