/** [S4] How many keys may be issued a day, and be alive at once, whatever crashes and restarts there are. */
import { apiKeyKind } from "../../../src/api/api-key.ts";
import { parseSpec } from "../../../src/api/parse-spec.ts";
import { liveKeyCap, safetyLimit } from "../../../src/controllers/api-key/rules/schedule.ts";
import { DAY, parseInstant, SECOND } from "../../../src/util/time.ts";
import type { ChangeSeen } from "./on-change.ts";
import {
  apiKeysOf,
  asApiKey,
  isPeer,
  issuerOf,
  issuingObject,
  pairOf,
  placeOf,
  type StoredApiKey,
  targetOf,
} from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** The window of the daily budget moves on when a day is over, and not before. */
export const budgetWindow: CreateWatcher = (world, circumstances) => ({
  onChange: ({ change, byOperator }: ChangeSeen) => {
    if (!byOperator || change.kind.type.kind !== "ApiKey" || world.hasMeddled) return undefined;
    const [old, now] = [change.previous ?? {}, change.object].map(
      (object) => asApiKey(object).status?.issuances,
    );
    // Between the least and the greatest that clocks have been off lies twice as much.
    return goesOn(old, now) || isNextDay(old, now, SECOND + 2 * circumstances.widestSkew)
      ? undefined
      : `the count of issues since ${old?.windowStartTime} was forgotten`;
  },
});

type Issues = NonNullable<NonNullable<StoredApiKey["status"]>["issuances"]>;

/** An issue that came to nothing is given back. */
function goesOn(old: Issues | undefined, now: Issues | undefined): boolean {
  if (old === undefined) return true;
  return old.windowStartTime === now?.windowStartTime && old.count - 1 <= now.count;
}

function isNextDay(old: Issues | undefined, now: Issues | undefined, tolerance: number): boolean {
  return (
    (parseInstant(now?.windowStartTime) ?? 0) >=
    (parseInstant(old?.windowStartTime) ?? 0) + DAY - tolerance
  );
}

/** Keys of one object: of those issued in one window, and of those alive at once. */
export const caps: CreateWatcher = (world, circumstances) => {
  /** Keys that a person asked for by annotation: no cap holds them up. */
  const requested = new Set<string>();
  return {
    onConsoleChange: (change, byOperator) => {
      if (change.kind !== "keyIssued" || !byOperator || world.hasMeddled) return undefined;
      const object = issuingObject(world, change.keyId);
      if (object === undefined) return undefined;
      if (object.status?.attempt?.reason === "RotationRequested") requested.add(change.keyId);
      return requested.has(change.keyId) ? undefined : (overBudget(object) ?? overCap(object));
    },
  };

  function overBudget(object: StoredApiKey): string | undefined {
    const since = parseInstant(object.status?.issuances?.windowStartTime) ?? 0;
    const from = since - SECOND - 2 * circumstances.widestSkew;
    const issued = keysOf(object).filter(
      ({ keyId, issueTime }) => issueTime >= from && !requested.has(keyId),
    );
    const most = object.spec.maxIssuesPerDay ?? 4;
    return issued.length <= most || isLeftByPeers(object, issued.length, mostIssues)
      ? undefined
      : `${issued.length} keys of ${placeOf(object)} in one day, at most ${most} are allowed`;
  }

  function overCap(object: StoredApiKey): string | undefined {
    const { now } = world.kernel;
    const live = keysOf(object).filter(
      (key) => key.status === "active" && now < key.expirationTime,
    );
    const cap = capOf(object);
    if (live.length <= cap) return undefined;
    return isUrgent(object) || isLeftByPeers(object, live.length, capOf)
      ? undefined
      : `${live.length} keys of ${placeOf(object)} are alive, at most ${cap} are allowed`;
  }

  /**
   * A lost key is counted where it is listed, which may be at another ApiKey of the account: the bounds of all of them
   * hold together.
   */
  function isLeftByPeers(
    object: StoredApiKey,
    count: number,
    mostOf: (each: StoredApiKey) => number,
  ): boolean {
    const peers = apiKeysOf(world).filter(
      (each) => isPeer(each, object) && each.metadata.uid !== object.metadata.uid,
    );
    const ofPeers = peers.reduce((sum, peer) => sum + keysOf(peer).length, 0);
    return count + ofPeers <= [object, ...peers].reduce((sum, each) => sum + mostOf(each), 0);
  }

  function mostIssues({ spec }: StoredApiKey): number {
    return spec.maxIssuesPerDay ?? 4;
  }

  function capOf({ spec, metadata }: StoredApiKey): number {
    const parsed = parseSpec(apiKeyKind, { spec });
    return parsed.ok ? liveKeyCap(parsed.spec, metadata.uid) : 0;
  }

  /** Without a usable key, or shortly before it expires, only the daily budget counts. */
  function isUrgent(object: StoredApiKey): boolean {
    const { current } = object.status ?? {};
    if (current === undefined) return true;
    const secret = targetOf(world, object);
    if ((secret && pairOf(secret)?.keyId) !== current.keyId) return true;
    if (world.console.world.whyKeyIsRefused(current.keyId) !== undefined) return true;
    const issueTime = parseInstant(current.issueTime) ?? 0;
    const limit = safetyLimit({
      issueTime,
      expirationTime: parseInstant(current.expirationTime) ?? 0,
    });
    return world.kernel.now >= limit - circumstances.widestSkew;
  }

  /** Since it was made: another object of its name may have had some too. */
  function keysOf(object: StoredApiKey) {
    const madeAt = parseInstant(object.metadata.creationTimestamp) ?? 0;
    return [...world.console.world.keys.values()].filter(
      ({ description, issueTime }) =>
        issueTime >= madeAt && issuerOf(description)?.key === placeOf(object),
    );
  }
};
