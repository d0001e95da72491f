/**
 * Holds the model of the API server to a real one: the same random commands on both.
 * `node tools/simulation/fidelity.ts --sequences 500 [--seed 1] [--parallel 8] [--json FILE]`
 */
import { writeFileSync } from "node:fs";
import { readFlags } from "../../scripts/flags.ts";
import { compareOddWatches, compareSequence, type Difference } from "./fidelity/compare.ts";
import { modelServer, realServer } from "./fidelity/servers.ts";

const values = readFlags("fidelity", {
  sequences: { type: "string", default: "500" },
  seed: { type: "string", default: "1" },
  parallel: { type: "string", default: "8" },
  json: { type: "string" },
});
const sequences = Number(values.sequences);
const firstSeed = Number(values.seed);
const MAX_SHOWN = 5;

const started = performance.now();
const real = await realServer();
const model = modelServer();
const differences: Difference[] = [];
let next = firstSeed;
let done = 0;

const work = async () => {
  while (next < firstSeed + sequences) {
    const seed = next;
    next += 1;
    const difference = await compareSequence({ model, real }, seed);
    if (difference !== undefined) differences.push(difference);
    done += 1;
    if (done % 100 === 0) console.log(`${done} sequences, ${differences.length} differences`);
  }
};

try {
  differences.push(...(await compareOddWatches({ model, real })));
  await Promise.all(Array.from({ length: Number(values.parallel) }, work));
} finally {
  await real.stop();
}
for (const each of differences.slice(0, MAX_SHOWN)) console.log(JSON.stringify(each, null, 1));
const seconds = Math.round((performance.now() - started) / 100) / 10;
const summary = { sequences: done, seed: firstSeed, differences: differences.length, seconds };
console.log(JSON.stringify(summary));
if (values.json !== undefined)
  writeFileSync(values.json, JSON.stringify({ ...summary, details: differences }));
process.exitCode = differences.length > 0 ? 1 : 0;
