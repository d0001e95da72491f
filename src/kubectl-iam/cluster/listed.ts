import { truncateList } from "../../util/truncate-list.ts";

const MOST_NAMES = 10;

/** The first ten, and how many more there are. */
export function listed(names: readonly string[]): string {
  return truncateList(names, MOST_NAMES);
}
