import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** A folder that outlives the run: what took long to get is kept in here. It can be deleted at any time. */
export function cacheFolder(...names: readonly string[]): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folder = join(base, "iam-operator", ...names);
  mkdirSync(folder, { recursive: true });
  return folder;
}
