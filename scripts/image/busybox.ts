import { existsSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./cache.ts";
import { unpackPackages } from "./tools.ts";

/** A busybox that needs no libraries, since it goes into images that have none. */
export async function busybox(): Promise<string> {
  const folder = join(cacheFolder(), `busybox-${process.arch}`);
  const candidates = ["bin/busybox", "usr/bin/busybox"].map((name) => join(folder, name));
  if (!candidates.some((file) => existsSync(file)))
    await unpackPackages(["busybox-static"], folder);
  const found = candidates.find((file) => existsSync(file));
  if (found === undefined) throw new Error(`there is no busybox in ${folder}`);
  return found;
}
