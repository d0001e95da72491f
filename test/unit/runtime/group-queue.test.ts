import { expect, test } from "vitest";
import { GroupQueue } from "../../../src/runtime/group-queue.ts";

function lineOf(count: number) {
  const queue = new GroupQueue<number>(0);
  for (let item = 0; item < count; item += 1) queue.add(item);
  const take = () => {
    const item = queue.next;
    if (item === undefined) throw new Error("the queue is empty");
    queue.delete(item);
    queue.endTurn();
    return item;
  };
  return { queue, take, takeMany: (turns: number) => Array.from({ length: turns }, take) };
}

test("a short queue is first come, first served", () => {
  const { takeMany } = lineOf(100);
  expect(takeMany(100)).toEqual(Array.from({ length: 100 }, (_, item) => item));
});

test("behind thousands, what comes last has its turn soon, and the others keep three of four", () => {
  const { queue, takeMany } = lineOf(10_000);
  takeMany(50);
  queue.add(-1);
  const taken = takeMany(400);
  expect(taken.slice(0, 4)).toContain(-1);
  const oldest = taken.filter((item) => item >= 0 && item < 5_000);
  expect(oldest).toHaveLength(300);
  expect(oldest).toEqual(oldest.toSorted((a, b) => a - b));
});

test("everything gets its turn, once, whatever is deleted meanwhile", () => {
  const { queue, take } = lineOf(1_000);
  const expected = new Set(Array.from({ length: 1_000 }, (_, item) => item));
  const taken: number[] = [];
  for (let came = 1_000; queue.size > 0; came += 1) {
    if (came < 3_000) {
      queue.add(came);
      expected.add(came);
    }
    const deleted = came - 500;
    if (queue.delete(deleted)) expected.delete(deleted);
    if (queue.size > 0) taken.push(take());
  }
  expect(taken.toSorted((a, b) => a - b)).toEqual([...expected].toSorted((a, b) => a - b));
});
