/** What a running operator has in its heap, by a snapshot that it writes on a signal. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { OperatorProcess } from "../../../real-world/program.ts";
import { until } from "../../../real-world/until.ts";

export interface Memory {
  /** In use after the garbage was collected. */
  readonly heapMiB: number;
  /** Everything that is in the heap as a text, of long texts the beginning. */
  readonly texts: readonly string[];
}

interface Snapshot {
  readonly snapshot: { readonly meta: { readonly node_fields: readonly string[] } };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
}

const SIGNAL = "SIGUSR2";
const MIB = 2 ** 20;

/** Start an operator with `nodeArgs`, then ask for its memory. */
export function openHeap() {
  const directory = mkdtempSync(join(tmpdir(), "iam-operator-heap-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return {
    nodeArgs: [`--heapsnapshot-signal=${SIGNAL}`, `--diagnostic-dir=${directory}`],
    async memoryOf(operator: OperatorProcess): Promise<Memory> {
      operator.signal(SIGNAL);
      let snapshot: Snapshot | undefined;
      await until("a snapshot of the heap", () => {
        snapshot = readLast(directory);
        return snapshot !== undefined;
      });
      const { nodes = [], strings: texts = [], snapshot: { meta } = {} } = snapshot ?? {};
      const { length: width = 1 } = meta?.node_fields ?? [];
      const at = meta?.node_fields.indexOf("self_size") ?? 0;
      const bytes = nodes.reduce((sum, value, n) => (n % width === at ? sum + value : sum), 0);
      return { heapMiB: Math.round(bytes / MIB), texts };
    },
  };
}

/** Answers `undefined` before a snapshot is complete; removes it. */
function readLast(directory: string): Snapshot | undefined {
  const [file] = readdirSync(directory);
  if (file === undefined) return undefined;
  const path = join(directory, file);
  try {
    const snapshot = JSON.parse(readFileSync(path, "utf8"));
    rmSync(path);
    return snapshot;
  } catch {
    return undefined;
  }
}
