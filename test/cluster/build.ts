/** The one Go program of the test bed, which is every part of a cluster. */
import {
  buildGoProgram,
  builtFolder,
  type GoProgram,
  type Progress,
} from "../support/go-program.ts";

const version = "k8s.io/component-base/version";

const testbed: GoProgram = {
  name: "the control plane",
  source: import.meta.dirname,
  files: ["go.mod", "go.sum", "cmd/testbed/main.go"],
  main: "./cmd/testbed",
  executable: "testbed",
  links: [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
  ],
  linkerFlags: `-s -w -X ${version}.gitVersion=v1.36.3 -X ${version}.gitMajor=1 -X ${version}.gitMinor=36`,
  duration: "about five minutes on two cores",
};

/** The folder that holds the built programs, or will hold them once they are built. */
export function builtPrograms(): string {
  return builtFolder(testbed);
}

/** Makes sure that the programs are built, and returns their folder. */
export function buildPrograms(onProgress: Progress): Promise<string> {
  return buildGoProgram(testbed, onProgress);
}
