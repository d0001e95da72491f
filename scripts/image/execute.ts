import { spawn } from "node:child_process";

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly input?: string;
}

/** Runs a program to its end and answers what it printed. Rejects with its errors. */
export function run(
  file: string,
  args: readonly string[],
  { cwd, env, input }: RunOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      stdio: "pipe",
    });
    const output: Buffer[] = [];
    const errors: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const text = Buffer.concat(output).toString();
      if (code === 0) return resolve(text);
      const end = `${text}\n${Buffer.concat(errors)}`.trim().split("\n").slice(-25).join("\n");
      reject(new Error(`${file} ${args.join(" ")} ended with ${code ?? signal}\n${end}`));
    });
    child.stdin.on("error", () => undefined);
    child.stdin.end(input ?? "");
  });
}
