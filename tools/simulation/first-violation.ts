/**
 * `node tools/simulation/first-violation.ts [KNOWN] [AREA]`: runs until a promise is broken, and says which run broke
 * which: first the run KNOWN, then each story, those about AREA first (`-`: none), each scenario without faults, and a choice of
 * faults. Ends after forty seconds of the processor without a violation.
 */
import { allScenarios } from "./all-scenarios.ts";
import { NO_FAULTS } from "./faults.ts";
import { perform, plansOf, runOfSeed, type SelectedRun } from "./run-selection.ts";
import { allStories, storiesFor } from "./stories/all-stories.ts";
import { type Story, violationsIn } from "./stories/story.ts";

/** Of the processor, since others may be busy as well: all stories take two thirds of it. */
const BUDGET_MS = 40_000;
/** Where faults find most. */
const STRUCK = ["rotation on request", "first key", "everything deleted", "binding changed"];
const EVERY = 37;

/** A run that can be named. Answers the promise that it broke, if any. */
interface Named {
  readonly name: string;
  readonly run: () => Promise<string | undefined>;
}

const { argv, stdout } = process;
const [, , known = "", area = ""] = argv;
Error.stackTraceLimit = 0;
stdout.write(`${await firstViolation()}\n`);
// What a mutant left open must not keep the process.
process.exit(0);

async function firstViolation(): Promise<string> {
  for await (const { name, run } of candidates()) {
    if (process.cpuUsage().user / 1_000 > BUDGET_MS) break;
    // A run that cannot be carried out to its end is one that went wrong.
    const broken = await run().catch((error: unknown) => String(error).split("\n")[0]);
    if (broken !== undefined) return `NOTICED ${name} | ${broken}`;
  }
  return "MISSED";
}

async function* candidates(): AsyncGenerator<Named> {
  if (known !== "") yield* knownRun(known);
  if (area === "-") return;
  for (const each of storiesFor(area)) yield storyRun(each);
  for (const { name } of allScenarios) yield faultlessRun(name);
  for (const scenario of STRUCK) {
    const plans = await plansOf(scenario).catch(() => []);
    for (const [index, { name }] of plans.entries())
      if (index % EVERY === 0) yield struckRun(scenario, name);
  }
  for (let seed = 1; ; seed += 1) yield seedRun(seed);
}

/** Nothing, if there is no such run any more. */
function* knownRun(text: string): Generator<Named> {
  const [name = "", ...rest] = text.split(" | ");
  const told = allStories.find((each) => each.name === name);
  const seed = /^seed (\d+)$/.exec(name)?.[1];
  if (told !== undefined) yield storyRun(told);
  else if (seed !== undefined) yield seedRun(Number(seed));
  else if (allScenarios.some((each) => each.name === name))
    yield rest.length > 1 ? struckRun(name, rest[0] ?? "") : faultlessRun(name);
}

function storyRun(told: Story): Named {
  return {
    name: told.name,
    run: async () => (await violationsIn(told))[0]?.invariant,
  };
}

function faultlessRun(scenario: string): Named {
  const selected = { scenario, plan: NO_FAULTS, options: { seed: 1 } };
  return { name: scenario, run: () => brokenIn(selected) };
}

function struckRun(scenario: string, name: string): Named {
  return {
    name: `${scenario} | ${name}`,
    run: async () => {
      const plan = (await plansOf(scenario)).find((each) => each.name === name);
      return plan && (await brokenIn({ scenario, plan, options: { seed: 1 } }));
    },
  };
}

function seedRun(seed: number): Named {
  return { name: `seed ${seed}`, run: async () => brokenIn(await runOfSeed(seed)) };
}

async function brokenIn(selected: SelectedRun): Promise<string | undefined> {
  const { violations } = await perform(selected);
  return violations[0]?.invariant;
}
