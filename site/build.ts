/**
 * Builds the site into site/dist. `npm run docs -- dev` shows it while you write, `-- preview` shows what was built.
 * Its packages are of its own, and installed on first use.
 */
import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";

const site = import.meta.dirname;
const args = process.argv.slice(2);
const command = args[0]?.startsWith("-") === false ? [] : ["build"];

if (!isInstalled()) run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund");
run(process.execPath, "node_modules/vitepress/bin/vitepress.js", ...command, ...args);

function isInstalled(): boolean {
  const installed = join(site, "node_modules/.package-lock.json");
  const wanted = join(site, "package-lock.json");
  return existsSync(installed) && statSync(installed).mtimeMs >= statSync(wanted).mtimeMs;
}

function run(file: string, ...argv: readonly string[]): void {
  const { status } = spawnSync(file, argv, { cwd: site, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
