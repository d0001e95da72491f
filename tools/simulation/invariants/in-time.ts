/** What has to have happened after a while; looked at once a minute. */
import { FINALIZER } from "../../../src/api/meta.ts";
import { DAY, HOUR, MINUTE, parseInstant } from "../../../src/util/time.ts";
import { type Tree, textAt, treeAt } from "../../api-server/tree.ts";
import type { SimWorld } from "../sim-world.ts";
import { gapOf, isEndedOutside } from "./always.ts";
import type { Circumstances } from "./circumstances.ts";
import { apiKeysOf, placeOf, type StoredApiKey, targetOf } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

type Look = (world: SimWorld, circumstances: Circumstances) => string | undefined;

function everyMinute(look: Look): CreateWatcher {
  return (world, circumstances) => {
    let lookedAt = 0;
    return {
      afterEvent: () => {
        if (world.kernel.elapsed < lookedAt + MINUTE) return undefined;
        lookedAt = world.kernel.elapsed;
        return look(world, circumstances);
      },
    };
  };
}

/** How long the operator waits for a console that is down before it lets an object go, with room to get there. */
const DELETION_MS: Readonly<Record<string, number>> = {
  ApiKey: 20 * MINUTE,
  PolicyBinding: 20 * MINUTE,
  // Waits for the other two.
  ServiceAccount: 40 * MINUTE,
  ResourceQuotaExport: 5 * MINUTE,
};

/** [L6] A deletion ends, whatever the console does. */
export const deletionsEnd = everyMinute((world, { widestSkew }) => {
  const { now } = world.kernel;
  const stuck = world.kube.storage.all.find(({ kind, object }) => {
    const limit = DELETION_MS[kind.type.kind];
    const since = parseInstant(textAt(treeAt(object, "metadata"), "deletionTimestamp"));
    if (limit === undefined || since === undefined || !isHeld(object)) return false;
    return now > since + limit + widestSkew;
  });
  return stuck && `${stuck.kind.type.kind} ${nameOf(stuck.object)} is still being deleted`;
});

function isHeld(object: Tree): boolean {
  const { finalizers } = treeAt(object, "metadata");
  const isSuspended = treeAt(object, "spec").suspend === true;
  return !isSuspended && Array.isArray(finalizers) && finalizers.includes(FINALIZER);
}

function nameOf(object: Tree): string {
  return String(treeAt(object, "metadata").name);
}

/** [L7] A key leaves the lists a day after it has expired: until then, the console may still list it. */
export const expiredKeysLeave = everyMinute((world, { widestSkew, calmMs }) => {
  if (calmMs < HOUR) return undefined;
  const { now } = world.kernel;
  const late = apiKeysOf(world)
    .filter(({ spec }) => spec.suspend !== true)
    .find(({ status: { superseded = [], orphaned = [] } = {} }) =>
      // What is known of a late key may be forged: it stays as long as the console lists it.
      [...superseded, ...orphaned.filter((key) => key.late !== true)].some(
        ({ expirationTime }) => now > (parseInstant(expirationTime) ?? 0) + DAY + HOUR + widestSkew,
      ),
    );
  return late && `${placeOf(late)} lists a key that expired more than a day ago`;
});

/** [S17, L2] With the console up, no key stays in use until its end. */
export const renewalsAreInTime = everyMinute((world, { calmMs, widestSkew }) => {
  if (calmMs < HOUR) return undefined;
  const { now } = world.kernel;
  const late = apiKeysOf(world).find((apiKey) => {
    const { current } = apiKey.status ?? {};
    const isWanted = isReady(apiKey) && apiKey.spec.suspend !== true;
    return isWanted && now > (parseInstant(current?.expirationTime) ?? now) - HOUR + widestSkew;
  });
  return late && `${placeOf(late)} is Ready with a key that expires within the hour`;
});

/** Two reads of a Secret, and the calls of an issue. */
const RENEWAL_MS = 15 * MINUTE;

/** A renewal comes at the time that the status names, unless a condition says what stops it, or a clock contradicts. */
export const forecastsComeTrue = everyMinute((world, { calmMs, widestSkew }) => {
  if (calmMs < HOUR || world.hasMeddled || clocksContradict(world)) return undefined;
  const { now } = world.kernel;
  const late = apiKeysOf(world).find(({ metadata, spec, status }) => {
    const { renewalTime, conditions } = status ?? {};
    const isForecast = conditions?.some(
      (each) => each.type === "IssuanceAllowed" && each.status === "True",
    );
    const isKept = metadata.deletionTimestamp === undefined && spec.suspend !== true;
    const latest = (parseInstant(renewalTime) ?? now) + RENEWAL_MS + 2 * widestSkew;
    return isForecast && isKept && now > latest;
  });
  return late && `${placeOf(late)} was to be renewed by now, and nothing is said to stop it`;
});

function clocksContradict({ clockSkews: { operators, kube, iam } }: SimWorld): boolean {
  const skews = [...operators, kube, iam];
  return Math.max(...skews) - Math.min(...skews) > RENEWAL_MS;
}

function isReady({ status }: StoredApiKey): boolean {
  return (
    status?.conditions?.some((each) => each.type === "Ready" && each.status === "True") === true
  );
}

/** Where Secrets are not watched, they are looked at every five minutes, give or take a tenth. */
const CHECK_MS = 5.5 * MINUTE;
/** Recovery, back-off and the console's answers on top. */
const REPAIR_MS = CHECK_MS + 5 * MINUTE;

/** [L5] What consumers find works again soon after somebody has destroyed it, unless a cap forbids a new key. */
export const damageIsRepaired = everyMinute((world, { calmMs, usableMs }) => {
  if (!world.hasMeddled || calmMs < REPAIR_MS) return undefined;
  for (const apiKey of apiKeysOf(world)) {
    const { conditions = [] } = apiKey.status ?? {};
    const mayIssue = !conditions.some(
      ({ type, status }) => type === "IssuanceAllowed" && status === "False",
    );
    const isWanted =
      apiKey.spec.suspend !== true && apiKey.metadata.deletionTimestamp === undefined;
    // What nobody can write, only a person can mend.
    const isStuck = targetOf(world, apiKey)?.immutable === true;
    const isOwed = isWanted && mayIssue && !isStuck && !isEndedOutside(world, apiKey, usableMs);
    const gap = isOwed ? gapOf(world, apiKey) : undefined;
    if (gap !== undefined) return `${placeOf(apiKey)}: ${gap}`;
  }
  return undefined;
});

/** Idle limit of a watch and its reconnection, or the check interval: whatever was missed is seen by then. */
const NEWS_MS = 90_000 + CHECK_MS;

/** [L8] Every changed spec is observed, also where the watch has missed it. */
export const newsArrive: CreateWatcher = (world, circumstances) => {
  const specChanges = new Map<string, { readonly generation: number; readonly since: number }>();
  let lookedAt = 0;
  return {
    onChange: ({ change, byOperator }) => {
      if (!change.kind.custom) return undefined;
      const uid = String(treeAt(change.object, "metadata").uid);
      const { generation } = treeAt(change.object, "metadata");
      const since = world.kernel.elapsed;
      if (change.type === "DELETED" || isNoted(change.object)) specChanges.delete(uid);
      else if (!byOperator && treeAt(change.previous ?? {}, "metadata").generation !== generation)
        specChanges.set(uid, { generation: Number(generation), since });
      return undefined;
    },
    afterEvent: () => {
      const { elapsed } = world.kernel;
      if (elapsed < lookedAt + MINUTE) return undefined;
      lookedAt = elapsed;
      // An event that was left out may take until the next listing.
      if (circumstances.calmMs < NEWS_MS || hasLostEvents()) return undefined;
      const unheard = world.kube.storage.all.find(({ object }) => isUnheard(object));
      return unheard && `${nameOf(unheard.object)} changed, and nobody has taken note of it`;
    },
  };

  function isUnheard(object: Tree): boolean {
    const change = specChanges.get(String(treeAt(object, "metadata").uid));
    return (
      change !== undefined && world.kernel.elapsed >= change.since + NEWS_MS && !isNoted(object)
    );
  }

  function hasLostEvents(): boolean {
    return [...world.faults.struck].some(
      (struck) => struck.on === "watch" && struck.fault.kind === "Dropped",
    );
  }
};

function isNoted(object: Tree): boolean {
  const { generation } = treeAt(object, "metadata");
  return treeAt(object, "status").observedGeneration === generation;
}
