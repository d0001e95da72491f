/** An invariant that remembers: what it is told of a world, in the order in which it happens. */
import type { Change as ConsoleChange } from "../../iam-server/world.ts";
import type { CallRecord } from "../journal.ts";
import type { SimWorld } from "../sim-world.ts";
import type { Circumstances } from "./circumstances.ts";
import type { ChangeSeen } from "./on-change.ts";

/** Each answers what is wrong, if anything. */
export interface Watcher {
  /** A stored object has changed. */
  onChange?(seen: ChangeSeen): string | undefined;
  /** The console has changed; by a call of the operator, or by somebody else. */
  onConsoleChange?(change: ConsoleChange, byOperator: boolean): string | undefined;
  /** A process has sent a call. */
  onCall?(call: CallRecord): string | undefined;
  /** After every event: must cost next to nothing where nothing is the matter. */
  afterEvent?(): string | undefined;
}

export type CreateWatcher = (world: SimWorld, circumstances: Circumstances) => Watcher;
