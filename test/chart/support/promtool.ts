/** promtool out of the Debian package prometheus, kept in the cache outside the tree. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { cacheFolder } from "../../../scripts/chart/helm.ts";

/** `undefined` with a reason on the console where this machine has none and cannot get it. */
export function findPromtool(): string | undefined {
  const onPath = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "promtool"))
    .find(existsSync);
  if (onPath !== undefined) return onPath;
  const cached = join(cacheFolder(), "prometheus", "promtool");
  if (existsSync(cached)) return cached;
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-prometheus-"));
  try {
    console.log("getting promtool from the Debian package prometheus (once)");
    const quiet = { cwd: directory, stdio: "ignore" } as const;
    execFileSync("apt-get", ["download", "prometheus"], quiet);
    const archive = readdirSync(directory).find((name) => name.endsWith(".deb")) ?? "";
    execFileSync("dpkg", ["-x", archive, "."], quiet);
    mkdirSync(join(cached, ".."), { recursive: true });
    copyFileSync(join(directory, "usr/bin/promtool"), cached);
    return cached;
  } catch {
    console.log(
      "SKIPPED: no promtool. Put one on PATH; on Debian: apt-get update, then run this again.",
    );
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
