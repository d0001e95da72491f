/** [L4] Somebody leads again soon after a leader's death, and at once after a graceful stop. */
import { leaseType } from "../../../src/kube/resource-types.ts";
import { SECOND } from "../../../src/util/time.ts";
import { textAt, treeAt } from "../../api-server/tree.ts";
import type { CreateWatcher } from "./watcher.ts";

/** leaseDuration + retryPeriod, and a second for the calls. */
const AFTER_DEATH_MS = 18 * SECOND;
const AFTER_RELEASE_MS = 3 * SECOND;

export const leaderFailover: CreateWatcher = (world, circumstances) => {
  let released = false;
  /** When the lease was last written; nobody has led for longer than since then. */
  let writtenAt: number | undefined;
  return {
    onChange: ({ change, byOperator }) => {
      if (change.kind.type.kind !== leaseType.kind) return undefined;
      const isOurs = byOperator && change.type !== "DELETED";
      writtenAt = isOurs ? world.kernel.elapsed : undefined;
      released = (textAt(treeAt(change.object, "spec"), "holderIdentity") ?? "") === "";
      return undefined;
    },
    afterEvent: () => {
      if (writtenAt === undefined) return undefined;
      const limit = released ? AFTER_RELEASE_MS : AFTER_DEATH_MS;
      const { elapsed } = world.kernel;
      if (elapsed <= writtenAt + limit || circumstances.calmMs <= limit) return undefined;
      // A candidate counts from when it could first look.
      const candidates = [...world.replicas.values()].map(({ process }) => process);
      const ready = candidates.filter(
        ({ alive, awakeSince }) => alive && elapsed > awakeSince + limit + SECOND,
      );
      if (ready.length === 0) return undefined;
      return `nobody has led for ${limit} ms, with ${ready.map(({ name }) => name).join(", ")} there to do it`;
    },
  };
};
