/** Starts the operator again whenever it ends, as a kubelet does. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Exit, OperatorProcess } from "../real-world/program.ts";

export interface Supervised {
  readonly current: OperatorProcess;
  /** Exits that nobody here asked for. */
  readonly exits: readonly Exit[];
  /** Ends the supervision and the process, gently. */
  stop(): Promise<Exit>;
}

const RESTART_MS = 500;

export async function supervise(start: () => Promise<OperatorProcess>): Promise<Supervised> {
  let current = await start();
  let isStopping = false;
  const exits: Exit[] = [];
  const watch = async (): Promise<void> => {
    const exit = await current.exit;
    if (isStopping) return;
    exits.push(exit);
    await sleep(RESTART_MS);
    if (isStopping) return;
    current = await start();
    return watch();
  };
  const watching = watch();
  return {
    get current() {
      return current;
    },
    exits,
    async stop() {
      isStopping = true;
      const exit = await current.stop();
      await watching;
      return exit;
    },
  };
}
