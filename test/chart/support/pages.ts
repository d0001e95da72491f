/** Commands as the pages show them, and a shell to run them in. */
import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../../../scripts/chart/helm.ts";
import { DEFAULT_CREDENTIALS } from "../../../tools/iam-server/seed.ts";
import type { Cluster } from "./cluster.ts";

const root = join(import.meta.dirname, "../../..");

export interface Block {
  /** The heading that it is under. */
  readonly heading: string;
  readonly code: string;
}

/** All ```sh blocks of a page, also those in lists. */
export function blocksOf(page: string): readonly Block[] {
  let heading = "";
  let lines: string[] | undefined;
  let indentation = /^/;
  const blocks: Block[] = [];
  for (const line of readFileSync(join(root, page), "utf8").split("\n")) {
    if (lines === undefined) heading = /^#+ (.*)/.exec(line)?.[1] ?? heading;
    if (line.trim() === "```sh") {
      lines = [];
      indentation = new RegExp(`^ {${line.indexOf("`")}}`);
    } else if (lines !== undefined && line.trim() === "```") {
      blocks.push({ heading, code: lines.join("\n") });
      lines = undefined;
    } else lines?.push(line.replace(indentation, ""));
  }
  return blocks;
}

/**
 * Runs commands as a person would type them, in a copy of the checkout that names the console at `consoleUrl`. The test
 * bed has neither nodes nor containers: what builds images or waits for Pods is left to the end-to-end run.
 */
export function createShell(cluster: Cluster, consoleUrl: string) {
  const home = mkdtempSync(join(cluster.directory, "shell-"));
  const bin = join(home, "bin");
  mkdirSync(bin);
  for (const name of ["charts", "crds", "deploy"])
    cpSync(join(root, name), join(home, name), { recursive: true });
  const example = join(home, "deploy/examples/cluster-connection.yaml");
  const connected = `baseURL: ${consoleUrl}\n  insecureHTTP: true`;
  const text = readFileSync(example, "utf8");
  writeFileSync(example, text.replace("baseURL: https://console.example.com", connected));
  const login = Object.entries(DEFAULT_CREDENTIALS).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(join(home, "login.env"), login.join(""));
  for (const name of ["docker", "kind"]) shim(bin, name, "false", "");
  shim(bin, "kubectl", cluster.kubectl, "rollout");
  // Without Pods there are no logs: the command is tried, and what follows in its pipe gets a line.
  const logs = `#!/bin/sh\n[ "$1" != logs ] || echo '"name":"ci-bot-key"'\nexec '${join(bin, "kubectl.real")}' "$@"\n`;
  renameSync(join(bin, "kubectl"), join(bin, "kubectl.real"));
  writeFileSync(join(bin, "kubectl"), logs, { mode: 0o755 });
  shim(bin, "helm", cluster.helm, "test");
  const state = join(cacheFolder(), "pages");
  const env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    KUBECONFIG: cluster.kubeconfig,
    HELM_CACHE_HOME: join(state, "cache"),
    HELM_CONFIG_HOME: join(state, "config"),
    HELM_DATA_HOME: join(state, "data"),
  };
  return (code: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const here = withNames(code)
        .replace(
          /CONSOLE=(https:\/\/console\.example\.com|http:\/\/\$HOST:8090)/,
          `CONSOLE=${consoleUrl}`,
        )
        .replace("baseURL: $CONSOLE", "baseURL: $CONSOLE\n  insecureHTTP: true");
      const child = spawn("bash", ["--norc", "-euo", "pipefail", "-c", here], { cwd: home, env });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.on("data", (chunk) => {
          output += chunk;
        });
      child.on("error", reject);
      child.on("close", (exit) =>
        exit === 0
          ? resolve(output)
          : reject(new Error(`${code}\n\nended with ${exit}:\n${output}`)),
      );
    });
}

/** What a page writes in capitals, in the names of the examples. */
function withNames(code: string): string {
  return code.replace(/\bNAMESPACE\b/g, "team-a").replace(/\b(NAME|APIKEY)\b/g, "ci-bot-key");
}

/** A program whose subcommand `left` (any, if empty) is left out. */
function shim(bin: string, name: string, program: string, left: string): void {
  const condition = left === "" ? "" : `[ "$1" = ${left} ] && `;
  const text = `#!/bin/sh\n${condition}exit 0\nexec '${program}' "$@"\n`;
  writeFileSync(join(bin, name), text, { mode: 0o755 });
}
