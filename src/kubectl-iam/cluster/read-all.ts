import { Semaphore } from "../../util/semaphore.ts";

const AT_ONCE = 16;

/** Reads for each item, a few at a time: the time limit of a call includes its wait for a connection. */
export function readAll<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const slots = new Semaphore(AT_ONCE);
  return Promise.all(items.map((item) => slots.run(() => read(item))));
}
