import { afterAll, beforeAll, expect, test } from "vitest";
import { compareOddWatches, compareSequence } from "./fidelity/compare.ts";
import { modelServer, type RealServer, realServer } from "./fidelity/servers.ts";

let real: RealServer;
beforeAll(async () => {
  real = await realServer();
}, 600_000);
afterAll(() => real.stop());

const SEQUENCES = 100;

test("the model answers random commands as the real API server does", {
  timeout: 300_000,
}, async () => {
  const model = modelServer();
  const differences = [];
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    const difference = await compareSequence({ model, real }, seed);
    if (difference !== undefined) differences.push(difference);
  }
  expect(differences).toEqual([]);
});

test("the model answers watches of too old, future and invalid versions as the real API server does", async () => {
  expect(await compareOddWatches({ model: modelServer(), real })).toEqual([]);
});
