/** One Pod of the operator: a process, and another one soon after the end of each. */
import type { Operator } from "../../src/app/operator.ts";
import { SECOND } from "../../src/util/time.ts";
import type { Kernel } from "./kernel.ts";
import { SimProcess } from "./sim-process.ts";

const RESTART_MS = 2 * SECOND;

export interface ReplicaOptions {
  readonly kernel: Kernel;
  /** The Pod's name; what it holds a lease as begins with it. */
  readonly name: string;
  /** How far its wall clock is off. */
  readonly skewMs: number;
  readonly create: (process: SimProcess) => Operator;
  readonly onCrash: () => void;
  /** A bug that nothing caught. */
  readonly onEscape: (error: unknown) => void;
}

export class Replica {
  readonly #options: ReplicaOptions;
  #process: SimProcess;
  #operator: Operator;
  #stop = new AbortController();
  #starts = 0;
  #skewMs: number;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#skewMs = options.skewMs;
    [this.#process, this.#operator] = this.#start();
  }

  get name(): string {
    return this.#options.name;
  }

  get process(): SimProcess {
    return this.#process;
  }

  get operator(): Operator {
    return this.#operator;
  }

  /** Whether the process has been told to stop. */
  get isStopping(): boolean {
    return this.#stop.signal.aborted;
  }

  /** The machine's wall clock steps; a process that is started later has it as it is then. */
  stepClock(ms: number): void {
    this.#skewMs += ms;
    this.#process.clock.jump(ms);
  }

  /** SIGTERM. */
  stop(): void {
    const signal = this.#stop;
    this.#process.deliver(() => signal.abort(new Error("simulated SIGTERM")));
  }

  #start(): [SimProcess, Operator] {
    const { kernel, name, create, onEscape } = this.#options;
    this.#starts += 1;
    const process = new SimProcess(
      kernel,
      `${name}-${this.#starts}`,
      (why) => this.#onEnd(why, process.name),
      this.#skewMs,
    );
    const operator = create(process);
    this.#stop = new AbortController();
    operator.run(this.#stop.signal).then(
      () => process.ended(),
      (error: unknown) => {
        onEscape(error);
        process.crash();
      },
    );
    return [process, operator];
  }

  #onEnd(why: "crashed" | "ended", who: string): void {
    const { kernel, onCrash } = this.#options;
    if (why === "crashed") onCrash();
    kernel.note(`${who} ${why}`);
    kernel.schedule(RESTART_MS, () => {
      [this.#process, this.#operator] = this.#start();
    });
  }
}
