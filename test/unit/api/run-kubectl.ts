import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** What kubectl prints; rejects with its words where it fails. */
export async function runKubectl(
  kubectl: string,
  kubeconfig: string,
  args: readonly string[],
): Promise<string> {
  const { stdout } = await promisify(execFile)(kubectl, ["--kubeconfig", kubeconfig, ...args]);
  return stdout;
}
