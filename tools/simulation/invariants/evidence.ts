/** What a condition or a status states about the console is true there when it is written; `Ready` also stays true. */
import type { Condition } from "../../../src/api/conditions.ts";
import {
  apiKeyType,
  policyBindingType,
  serviceAccountType,
} from "../../../src/resources/resource-types.ts";
import { MINUTE } from "../../../src/util/time.ts";
import { isTree, listAt, type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import { gapOf, isRefusedInTime } from "./always.ts";
import type { ChangeSeen } from "./on-change.ts";
import { apiKeysOf, placeOf } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** Between the read that shows something and the write that states it, with slow calls. */
const EVIDENCE_MS = MINUTE / 2;

/** AccessRevoked, PolicyBindings that are Ready, and ended states of superseded keys. */
export const evidence: CreateWatcher = (world) => {
  /** By TPN: what has been bound, each since when; the newest last. */
  const history = new Map<string, { at: number; bound: readonly string[] }[]>();
  return {
    onConsoleChange: (change) => {
      if (change.kind === "bindingsReplaced") {
        const states = history.get(change.tpn) ?? [{ at: 0, bound: change.before }];
        states.push({ at: world.kernel.elapsed, bound: change.after });
        history.set(change.tpn, states);
      }
      return undefined;
    },
    onChange: ({ change, byOperator }: ChangeSeen) => {
      if (!byOperator || world.hasMeddled || hasLaggingLists(world)) return undefined;
      const { kind } = change.kind.type;
      const seen = { object: change.object, previous: change.previous };
      if (kind === serviceAccountType.kind) return falselyRevoked(seen);
      if (kind === policyBindingType.kind) return falselyBound(seen);
      return kind === apiKeyType.kind ? falselyEnded(seen) : undefined;
    },
  };

  /** What was bound at any time in the last while. */
  function boundLately(tpn: string): readonly (readonly string[])[] {
    const states = history.get(tpn) ?? [];
    const since = world.kernel.elapsed - EVIDENCE_MS;
    const first = states.findLastIndex(({ at }) => at <= since);
    return states.slice(Math.max(0, first)).map(({ bound }) => bound);
  }

  function falselyRevoked(seen: Seen): string | undefined {
    if (!becomesTrue(seen, "AccessRevoked")) return undefined;
    const tpn = String(treeAt(seen.object, "status").tpn);
    const states = boundLately(tpn);
    return states.length === 0 || states.some((bound) => bound.length === 0)
      ? undefined
      : `access counts as revoked while ${states.at(-1)?.join(", ")} is bound`;
  }

  function falselyBound(seen: Seen): string | undefined {
    if (!becomesTrue(seen, "Ready")) return undefined;
    const { spec } = { spec: treeAt(seen.object, "spec") };
    const wanted = listAt(spec, "policyIds").map((id) => world.console.policyIdOf(String(id)));
    const account = world.get(serviceAccountType, String(treeAt(spec, "serviceAccountRef").name));
    const tpn = textAt(treeAt(account ?? {}, "status"), "tpn");
    const bindings = treeAt(treeAt(account ?? {}, "status"), "bindings");
    if (tpn === undefined || bindings.unreadable === true) return undefined;
    const holds = boundLately(tpn).some((bound) => wanted.every((id) => bound.includes(id)));
    return holds ? undefined : `a PolicyBinding is Ready, and ${wanted.join(", ")} is not bound`;
  }

  function falselyEnded({ object, previous = {} }: Seen): string | undefined {
    const before = endedIn(previous);
    const wrong = [...endedIn(object)].find(
      (keyId) => !before.has(keyId) && world.console.world.whyKeyIsRefused(keyId) === undefined,
    );
    return wrong && `${wrong} counts as ended, and the console accepts it`;
  }
};

interface Seen {
  readonly object: Tree;
  readonly previous: Tree | undefined;
}

/** A list that is behind shows what was so. */
export function hasLaggingLists({ faults }: SimWorld): boolean {
  return faults.plan.faults.some(
    (fault) =>
      (fault.on === "call" && ["Behind", "Answer"].includes(fault.fault.kind)) ||
      (fault.on === "world" && fault.event.kind === "ListsBehind"),
  );
}

function becomesTrue({ object, previous = {} }: Seen, type: string): boolean {
  return isTrue(object, type) && !isTrue(previous, type);
}

/** A condition that an older spec has says so by its generation. */
function isTrue(object: Tree, type: string): boolean {
  const conditions = listAt(treeAt(object, "status"), "conditions") as unknown as Condition[];
  const { generation } = treeAt(object, "metadata");
  return conditions.some(
    ({ observedGeneration = generation, ...each }) =>
      each.type === type && each.status === "True" && observedGeneration === generation,
  );
}

/** Superseded keys that are no longer valid, by the status. */
function endedIn(object: Tree): ReadonlySet<string> {
  const superseded = listAt(treeAt(object, "status"), "superseded").filter(isTree);
  const ended = superseded.filter(({ state }) => ENDED.has(String(state)));
  return new Set(ended.map(({ keyId }) => String(keyId)));
}

const ENDED: ReadonlySet<string> = new Set(["Inactive", "Disabled", "Deleted"]);

/** [S2] An ApiKey that is Ready has a pair that the console accepts, as soon as the operator can know. */
export const readyIsTrue: CreateWatcher = (world, circumstances) => {
  /** By uid: since when the pair has been refused. */
  const refusedAt = new Map<string, number>();
  let lookedAt = 0;
  return {
    afterEvent: () => {
      const { elapsed } = world.kernel;
      if (elapsed < lookedAt + MINUTE) return undefined;
      lookedAt = elapsed;
      if (world.hasMeddled) return undefined;
      return apiKeysOf(world)
        .map((apiKey) => {
          const { uid, deletionTimestamp } = apiKey.metadata;
          const isReady = isTrue(apiKey as unknown as Tree, "Ready");
          const gap = deletionTimestamp === undefined && isReady ? gapOf(world, apiKey) : undefined;
          if (gap === undefined) refusedAt.delete(uid);
          else if (!refusedAt.has(uid)) refusedAt.set(uid, elapsed);
          const refusedMs = elapsed - (refusedAt.get(uid) ?? elapsed);
          if (gap === undefined) return undefined;
          return isRefusedInTime(world, refusedMs, circumstances.usableMs)
            ? undefined
            : `${placeOf(apiKey)} is Ready, and for ${Math.round(refusedMs / MINUTE)} min ${gap}`;
        })
        .find((what) => what !== undefined);
    },
  };
};
