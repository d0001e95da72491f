import { expect, test } from "vitest";
import { FairQueue } from "../../../src/runtime/fair-queue.ts";

test("any number of resources can be skipped, and keep their turns", () => {
  const queue = new FairQueue<{ readonly group: string; readonly resource: string }>();
  const items = Array.from({ length: 30_000 }, (_, n) => ({ group: `${n}`, resource: `${n}` }));
  for (const item of items) queue.add(item);
  const last = items.at(-1);
  expect(queue.first((resource) => resource === last?.resource)).toBe(last);
  expect(queue.first(() => false)).toBeUndefined();
  expect(queue.first(() => true)).toBe(items[0]);
  expect(queue.size).toBe(30_000);
});
