/** Finds the programs of a control plane, and builds them when this machine has none. */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Progress } from "../support/go-program.ts";
import { buildPrograms, builtPrograms, type ProgramSet } from "./build.ts";

/** The programs a control plane consists of, each as the path of an executable. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** Absent only in a minimal set. */
  readonly controllerManager?: string;
}

export interface Wanted {
  /** A controller manager may be missing, as in envtest's archives, and any supported version will do. */
  readonly minimal?: boolean;
}

const oldestVersion = 32;
const newestVersion = 36;

/** The set that has everything tests need, of the version that they are to run on. */
function whole(): ProgramSet {
  return process.env.TEST_KUBERNETES === "oldest" ? "oldest" : "whole";
}

function testedVersion(): number {
  return whole() === "oldest" ? oldestVersion : newestVersion;
}

/** Takes the first complete set: KUBEBUILDER_ASSETS, PATH, the cache, and at last a Go build. */
export async function findBinaries(
  onProgress: Progress,
  { minimal = false }: Wanted = {},
): Promise<Binaries> {
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const assets = process.env.KUBEBUILDER_ASSETS;
  if (assets) {
    const found = await suitable([assets], [assets, builtPrograms(whole()), ...path], minimal);
    if (found) return found;
    onProgress(`KUBEBUILDER_ASSETS (${assets}) is not used: it needs ${needs(minimal)}`);
  }
  return (
    (await suitable(path, [builtPrograms(whole()), ...path], minimal)) ??
    ownBinaries(onProgress, minimal)
  );
}

function needs(minimal: boolean): string {
  return minimal
    ? `etcd, kube-apiserver v1.${oldestVersion} or later, and kubectl there or on PATH`
    : `etcd, kube-apiserver v1.${testedVersion()}, kube-controller-manager, and kubectl there or on PATH`;
}

async function suitable(
  folders: readonly string[],
  kubectlFolders: readonly string[],
  minimal: boolean,
): Promise<Binaries | undefined> {
  const etcd = findProgram("etcd", folders);
  const apiServer = findProgram("kube-apiserver", folders);
  const controllerManager = findProgram("kube-controller-manager", folders);
  const kubectl = findProgram("kubectl", kubectlFolders);
  if (!etcd || !apiServer || !kubectl || !(minimal || controllerManager)) return undefined;
  const version = await minorVersionOf(apiServer);
  if (minimal ? version < oldestVersion : version !== testedVersion()) return undefined;
  return { etcd, apiServer, kubectl, ...(controllerManager ? { controllerManager } : {}) };
}

/** A whole set that is built already serves where a minimal one would do. */
async function ownBinaries(onProgress: Progress, minimal: boolean): Promise<Binaries> {
  const onlyMinimal =
    minimal && whole() === "whole" && !isExecutable(join(builtPrograms(), "kube-apiserver"));
  const folder = await buildPrograms(onProgress, onlyMinimal ? "minimal" : whole());
  return {
    etcd: join(folder, "etcd"),
    apiServer: join(folder, "kube-apiserver"),
    kubectl: join(folder, "kubectl"),
    ...(onlyMinimal ? {} : { controllerManager: join(folder, "kube-controller-manager") }),
  };
}

/** kubectl of PATH or of an earlier build. */
export function findKubectl(): string | undefined {
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return findProgram("kubectl", [...path, builtPrograms(whole()), builtPrograms("minimal")]);
}

function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** 36 for `Kubernetes v1.36.3`; 0 where the program does not say. */
async function minorVersionOf(apiServer: string): Promise<number> {
  const { stdout } = await promisify(execFile)(apiServer, ["--version"]).catch(() => ({
    stdout: "",
  }));
  return Number(/^Kubernetes v1\.(\d+)\./.exec(stdout)?.[1] ?? 0);
}
