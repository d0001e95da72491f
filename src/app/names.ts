import { readFileSync } from "node:fs";
import { readHostFiles } from "../http/host-files.ts";
import { createResolver, type NameResolver } from "../http/resolver.ts";
import type { Clock } from "../util/time.ts";

/** Who looks up the API server's name; no namespace and no connection has this name. */
export const API_SERVER = "API server";

/** Resolves names by the files of the machine or the Pod, which are read once. */
export function systemResolver(clock: Clock): NameResolver {
  const files = readHostFiles(textOf("/etc/hosts"), textOf("/etc/resolv.conf"));
  return createResolver({ files, clock });
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
