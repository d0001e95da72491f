/** What GitOps tools make of an object: the verdicts of the kstatus library itself, which is written in Go. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { buildGoProgram, type GoProgram } from "../../support/go-program.ts";

export interface Verdict {
  readonly status: "Current" | "InProgress" | "Failed" | "Terminating" | "NotFound" | "Unknown";
  readonly message: string;
}

const program: GoProgram = {
  name: "kstatus",
  source: import.meta.dirname,
  files: ["go.mod", "go.sum", "main.go"],
  main: ".",
  executable: "kstatus",
  links: [],
  linkerFlags: "-s -w",
};

/** One verdict for each object as the API server stores it. The first call on a machine builds the program. */
export async function kstatusOf(objects: readonly object[]): Promise<readonly Verdict[]> {
  const folder = await buildGoProgram(program, () => {});
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const run = execFile(join(folder, program.executable), (error, stdout) =>
    error === null ? resolve(stdout) : reject(error),
  );
  run.stdin?.end(objects.map((object) => JSON.stringify(object)).join("\n"));
  const lines = (await promise).split("\n").filter((line) => line !== "");
  return lines.map((line) => JSON.parse(line));
}
