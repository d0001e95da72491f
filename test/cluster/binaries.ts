/** Finds the programs of a control plane, and builds them when this machine has none. */
import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import type { Progress } from "../support/go-program.ts";
import { buildPrograms, builtPrograms } from "./build.ts";

/** The programs a control plane consists of, each as the path of an executable. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly kubectl: string;
}

const wantedVersion = "Kubernetes v1.36.";

/** Takes the first complete set: KUBEBUILDER_ASSETS, PATH, the cache, and at last a Go build. */
export async function findBinaries(onProgress: Progress): Promise<Binaries> {
  return (await readyMade(onProgress)) ?? ownBinaries(await buildPrograms(onProgress));
}

async function readyMade(onProgress: Progress): Promise<Binaries | undefined> {
  const path = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const assets = process.env.KUBEBUILDER_ASSETS;
  const kubectlFolders = [builtPrograms(), ...path];
  if (assets) {
    const found = await suitable([assets], [assets, ...kubectlFolders]);
    if (found) return found;
    onProgress(`KUBEBUILDER_ASSETS (${assets}) is not a complete v1.36 control plane: not used`);
  }
  return suitable(path, kubectlFolders);
}

async function suitable(
  folders: readonly string[],
  kubectlFolders: readonly string[],
): Promise<Binaries | undefined> {
  const etcd = findProgram("etcd", folders);
  const apiServer = findProgram("kube-apiserver", folders);
  const controllerManager = findProgram("kube-controller-manager", folders);
  const kubectl = findProgram("kubectl", kubectlFolders);
  if (!etcd || !apiServer || !controllerManager || !kubectl) return undefined;
  return (await versionOf(apiServer)).startsWith(wantedVersion)
    ? { etcd, apiServer, controllerManager, kubectl }
    : undefined;
}

function ownBinaries(folder: string): Binaries {
  return {
    etcd: join(folder, "etcd"),
    apiServer: join(folder, "kube-apiserver"),
    controllerManager: join(folder, "kube-controller-manager"),
    kubectl: join(folder, "kubectl"),
  };
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

async function versionOf(apiServer: string): Promise<string> {
  const run = promisify(execFile);
  return run(apiServer, ["--version"]).then(
    ({ stdout }) => stdout,
    () => "",
  );
}
