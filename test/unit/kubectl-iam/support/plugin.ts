/** The bundled plugin as kubectl finds it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { inject } from "vitest";

export interface Ended {
  readonly code: number;
  /** What was asked for. */
  readonly output: string;
  /** What was said besides. */
  readonly notes: string;
}

export interface RunOptions {
  readonly input?: string;
  /** Width of output that goes to no terminal; nothing is cut without it. */
  readonly columns?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

export class Plugin {
  readonly folder: string;
  readonly kubeconfig: string;
  readonly #bin: string;

  private constructor(folder: string, kubeconfig: string) {
    this.folder = folder;
    this.kubeconfig = kubeconfig;
    this.#bin = join(folder, "bin");
  }

  /** Puts it beside kubectl on a PATH of its own. `namespace` is that of the context. */
  static async install(kubeconfig: string, namespace: string): Promise<Plugin> {
    const folder = mkdtempSync(join(tmpdir(), "kubectl-iam-"));
    const bin = join(folder, "bin");
    mkdirSync(bin);
    const { kubectl, plugin: bundle } = inject("controlPlane");
    symlinkSync(join(bundle, "kubectl-iam.mjs"), join(bin, "kubectl-iam"));
    symlinkSync(join(bundle, "kubectl_complete-iam"), join(bin, "kubectl_complete-iam"));
    symlinkSync(kubectl, join(bin, "kubectl"));
    symlinkSync(process.execPath, join(bin, "node"));
    const plugin = new Plugin(folder, kubeconfig);
    await plugin.shell(`kubectl config view --raw --flatten > ${folder}/config`);
    const own = new Plugin(folder, join(folder, "config"));
    await own.shell(`kubectl config set-context --current --namespace=${namespace}`);
    return own;
  }

  /** `kubectl iam …` without a terminal. */
  run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
    return this.#execute(join(this.#bin, "kubectl"), ["iam", ...args], options);
  }

  /** A line of a shell, as a person types it. */
  shell(line: string, options: RunOptions = {}): Promise<Ended> {
    return this.#execute("/bin/sh", ["-c", line], options);
  }

  /** A line of a shell on a terminal of that many columns; what is typed comes from `input`. */
  onTerminal(line: string, columns: number, input = ""): Promise<Ended> {
    const script = join(this.folder, "line.sh");
    writeFileSync(script, `stty cols ${columns} rows 50\n${line}\n`);
    return this.#execute("script", ["-qec", `sh ${script}`, "/dev/null"], {
      input,
      environment: { TERM: "xterm" },
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  #execute(file: string, args: readonly string[], options: RunOptions): Promise<Ended> {
    const { input = "", columns, environment = {} } = options;
    const env = {
      HOME: this.folder,
      PATH: [this.#bin, "/usr/bin", "/bin", dirname(process.execPath)].join(delimiter),
      KUBECONFIG: this.kubeconfig,
      ...(columns === undefined ? {} : { COLUMNS: String(columns) }),
      ...environment,
    };
    return new Promise((resolve) => {
      const child = execFile(file, args, { env, cwd: this.folder }, (error, output, notes) => {
        const code = error === null ? 0 : Number(error.code ?? 1);
        resolve({ code, output: output.replaceAll("\r\n", "\n"), notes });
      });
      child.stdin?.on("error", () => undefined);
      child.stdin?.end(input);
    });
  }
}
