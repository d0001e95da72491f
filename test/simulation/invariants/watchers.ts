import { fence } from "./fence.ts";
import type { CreateWatcher } from "./watcher.ts";

/** Every invariant that remembers, by name. */
export const watchers: Readonly<Record<string, CreateWatcher>> = {
  "S8 fence": fence,
};
