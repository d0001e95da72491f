import { spawn } from "node:child_process";

export type Kubectl = (args: readonly string[], input?: string) => Promise<string>;

/** kubectl against one cluster. Rejects with what it printed. */
export function createKubectl(program: string, kubeconfig: string): Kubectl {
  return (args, input) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, ["--kubeconfig", kubeconfig, ...args], {
        stdio: ["pipe", "pipe", "pipe"],
      });
      let output = "";
      let errors = "";
      child.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
      child.stderr.on("data", (chunk: Buffer) => {
        errors += chunk.toString();
      });
      child.on("error", reject);
      child.on("close", (code) =>
        code === 0
          ? resolve(output)
          : reject(new Error(`kubectl ${args.join(" ")}\n${errors}${output}`)),
      );
      child.stdin.end(input ?? "");
    });
}
