import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { MAX_NEW_SPACE_BYTES } from "../../../src/app/memory.ts";

const memory = new URL("../../../src/app/memory.ts", import.meta.url).href;

/** The most bytes that V8 gives to new objects in a process of its own that makes many. */
function newSpaceOf(setUp: string): number {
  const program = `
    const { getHeapSpaceStatistics } = await import("node:v8");
    const { limitYoungGeneration } = await import(${JSON.stringify(memory)});
    ${setUp}
    let kept = [], most = 0;
    for (let turn = 0; turn < 150; turn += 1) {
      for (let n = 0; n < 4_000; n += 1) kept.push({ text: "x".repeat(50) + turn + n });
      if (kept.length > 100_000) kept = kept.slice(50_000);
      await new Promise((done) => setImmediate(done));
      const [space] = getHeapSpaceStatistics().filter((each) => each.space_name === "new_space");
      most = Math.max(most, space.space_size);
    }
    console.log(most);`;
  return Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program]));
}

/** On a busy machine, the limit is set a collection later, and each collection can double the space. */
const ROOM = 4;

test("the space for new objects stops growing, on machines with much memory too", () => {
  expect(newSpaceOf("limitYoungGeneration();")).toBeLessThan(ROOM * MAX_NEW_SPACE_BYTES);
});

test("without it, the space grows further, so this tests something", () => {
  expect(newSpaceOf("")).toBeGreaterThan(ROOM * MAX_NEW_SPACE_BYTES);
});
