/** The one Go program of the test bed, which is every part of a cluster. */
import {
  buildGoProgram,
  builtFolder,
  type GoProgram,
  type Progress,
} from "../support/go-program.ts";

export type { Progress } from "../support/go-program.ts";

const minimal = ["etcd", "kube-apiserver", "kubectl"];
const sources = ["cmd/testbed/main.go", "cmd/testbed/whole.go"];
const newest = { files: ["go.mod", "go.sum", ...sources], linkerFlags: linkerFlags(36, 3) };
/** What may be built: all that the tests use; no more than what serves the API; an old Kubernetes, without nodes. */
const builds = {
  whole: {
    ...newest,
    links: [...minimal, "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"],
  },
  minimal: { ...newest, links: minimal, tags: "minimal" },
  oldest: {
    files: ["oldest.mod", "oldest.sum", ...sources, "cmd/testbed/controllers.go"],
    modfile: "oldest.mod",
    linkerFlags: linkerFlags(32, 2),
    links: [...minimal, "kube-controller-manager"],
    tags: "minimal,controllers",
  },
};
export type ProgramSet = keyof typeof builds;

function testbed(set: ProgramSet): GoProgram {
  const build = builds[set];
  return {
    name: build.links.join(", "),
    source: import.meta.dirname,
    main: "./cmd/testbed",
    executable: "testbed",
    ...build,
  };
}

function linkerFlags(minor: number, patch: number): string {
  const version = "k8s.io/component-base/version";
  return `-s -w -X ${version}.gitVersion=v1.${minor}.${patch} -X ${version}.gitMajor=1 -X ${version}.gitMinor=${minor}`;
}

/** The folder that holds the built programs, or will hold them once they are built. */
export function builtPrograms(set: ProgramSet = "whole"): string {
  return builtFolder(testbed(set));
}

/** Makes sure that the programs are built, and returns their folder. Only one process builds. */
export function buildPrograms(onProgress: Progress, set: ProgramSet = "whole"): Promise<string> {
  return buildGoProgram(testbed(set), onProgress);
}
