/** The one Go program of the test bed, which is every part of a cluster. */
import {
  buildGoProgram,
  builtFolder,
  type GoProgram,
  type Progress,
} from "../support/go-program.ts";

export type { Progress } from "../support/go-program.ts";

const minimal = ["etcd", "kube-apiserver", "kubectl"];
/** What may be built: all that the tests use, or no more than what serves the API. */
const programs = {
  whole: [...minimal, "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"],
  minimal,
};
export type ProgramSet = keyof typeof programs;
const version = "k8s.io/component-base/version";

function testbed(set: ProgramSet): GoProgram {
  return {
    name: programs[set].join(", "),
    source: import.meta.dirname,
    files: ["go.mod", "go.sum", "cmd/testbed/main.go", "cmd/testbed/whole.go"],
    main: "./cmd/testbed",
    executable: "testbed",
    links: programs[set],
    linkerFlags: `-s -w -X ${version}.gitVersion=v1.36.3 -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`,
    ...(set === "minimal" ? { tags: "minimal" } : {}),
  };
}

/** The folder that holds the built programs, or will hold them once they are built. */
export function builtPrograms(set: ProgramSet = "whole"): string {
  return builtFolder(testbed(set));
}

/** Makes sure that the programs are built, and returns their folder. Only one process builds. */
export function buildPrograms(onProgress: Progress, set: ProgramSet = "whole"): Promise<string> {
  return buildGoProgram(testbed(set), onProgress);
}
