/** Prometheus and promtool out of the Debian package prometheus, kept in the cache outside the tree. */
import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { cacheFolder } from "../../scripts/chart/helm.ts";

const programs = ["prometheus", "promtool"] as const;

/** `undefined` with a reason on the console where this machine has none and cannot get it. */
export function findProgram(name: (typeof programs)[number]): string | undefined {
  const onPath = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find(existsSync);
  if (onPath !== undefined) return onPath;
  const folder = join(cacheFolder(), "prometheus");
  const cached = join(folder, name);
  if (existsSync(cached)) return cached;
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-prometheus-"));
  try {
    console.log("getting the Debian package prometheus (once)");
    const quiet = { cwd: directory, stdio: "ignore" } as const;
    execFileSync("apt-get", ["download", "prometheus"], quiet);
    const archive = readdirSync(directory).find((file) => file.endsWith(".deb")) ?? "";
    execFileSync("dpkg", ["-x", archive, "."], quiet);
    mkdirSync(folder, { recursive: true });
    for (const each of programs) copyFileSync(join(directory, "usr/bin", each), join(folder, each));
    return cached;
  } catch {
    console.log(
      `SKIPPED: no ${name}. Put one on PATH; on Debian: apt-get update, then run this again.`,
    );
    return undefined;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
