import { expect, test } from "vitest";
import { readEffect } from "../../../src/accounts/read-effect.ts";
import type { Effect } from "../../../src/console/evidence.ts";

test.each<[readonly Effect[], Effect, readonly number[]]>([
  [["Shown"], "Shown", []],
  [["Unknown"], "Unknown", []],
  [["NotShown", "Shown"], "Shown", [1_000]],
  [["NotShown", "NotShown", "Shown"], "Shown", [1_000, 3_000]],
  [["NotShown", "NotShown", "NotShown", "Shown"], "NotShown", [1_000, 3_000]],
])("reads that answer %j end with %s, after pauses of %j ms", async (answers, expected, pauses) => {
  const left = [...answers];
  const slept: number[] = [];
  const clock = { sleep: async (ms: number) => void slept.push(ms) };
  const read = async () => left.shift() ?? "Unknown";
  const { signal } = new AbortController();
  const { effect } = await readEffect(read, (seen) => seen, { clock, signal });
  expect([effect, slept]).toEqual([expected, pauses]);
});
