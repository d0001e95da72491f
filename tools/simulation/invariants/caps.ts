/** [S4] How many keys may be issued a day, and how many lost in a row, whatever crashes and restarts there are. */
import { safetyLimit } from "../../../src/kinds/api-key/rules/schedule.ts";
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

/** No issue of the last day is forgotten, unless it came to nothing. */
export const budgetWindow: CreateWatcher = (world, circumstances) => ({
  onChange: ({ change, byOperator }: ChangeSeen) => {
    if (!byOperator || change.kind.type.kind !== "ApiKey" || world.hasMeddled) return undefined;
    const [old, now] = [change.previous ?? {}, change.object].map(
      (object) => asApiKey(object).status,
    );
    const { now: at } = world.kernel;
    // Between the least and the greatest that clocks have been off lies twice as much.
    const dayAgo = at - DAY + SECOND + 2 * circumstances.widestSkew;
    const kept = new Set(now?.recentIssues?.map(({ time }) => time));
    const forgotten = old?.recentIssues?.find(({ time: text }) => {
      const time = parseInstant(text) ?? 0;
      const isCorrected = time > at;
      return !kept.has(text) && time > dayAgo && !isCorrected && text !== old.attempt?.startTime;
    });
    return forgotten && `the issue at ${forgotten.time} was forgotten`;
  },
});

/** Keys of one object: of those issued in one window, and of those lost since the key in use was issued. */
export const caps: CreateWatcher = (world, circumstances) => {
  /** Attempts that a person asked for by annotation: no cap holds up their keys, however many a gateway makes of one. */
  const requested = new Set<string>();
  return {
    onConsoleChange: (change, byOperator) => {
      if (change.kind !== "keyIssued" || !byOperator || world.hasMeddled) return undefined;
      const object = issuingObject(world, change.keyId);
      if (object === undefined) return undefined;
      const { attempt } = object.status ?? {};
      if (attempt?.reason === "RotationRequested") requested.add(attempt.id);
      const { saId } = world.console.world.keys.get(change.keyId) ?? {};
      return isRequested(change.keyId) ? undefined : (overBudget(object) ?? overLost(object, saId));
    },
  };

  function isRequested(keyId: string): boolean {
    const key = world.console.world.keys.get(keyId);
    return requested.has((key && issuerOf(key.description)?.attempt) ?? "");
  }

  function overBudget(object: StoredApiKey): string | undefined {
    const from = world.kernel.now - DAY + SECOND + 2 * circumstances.widestSkew;
    const issued = keysOf(object).filter(
      ({ keyId, issueTime }) => issueTime >= from && !isRequested(keyId),
    );
    const most = object.spec.maxIssuesPerDay ?? 4;
    return issued.length <= most || isLeftByPeers(object, issued.length)
      ? undefined
      : `${issued.length} keys of ${placeOf(object)} in 24 hours, at most ${most} are allowed`;
  }

  /** Of one account: a person may move the object from one account to another. */
  function overLost(object: StoredApiKey, saId: string | undefined): string | undefined {
    const { current, orphaned = [] } = object.status ?? {};
    const since = parseInstant(current?.issueTime) ?? 0;
    const lost = orphaned.filter(
      (key) =>
        key.late !== true && key.saId === saId && (parseInstant(key.observedTime) ?? 0) > since,
    );
    const inARow = new Map(lost.map((key) => [key.attemptId, parseInstant(key.observedTime) ?? 0]));
    const newest = Math.max(...inARow.values());
    const isTooSoon = world.kernel.now < newest + DAY - 2 * circumstances.widestSkew;
    return inARow.size < 2 || !isTooSoon || isUrgent(object)
      ? undefined
      : `another key of ${placeOf(object)} within a day after ${inARow.size} were lost in a row`;
  }

  /**
   * A lost key is counted where it is listed, which may be at another ApiKey of the account: the bounds of all of them
   * hold together.
   */
  function isLeftByPeers(object: StoredApiKey, count: number): boolean {
    const peers = apiKeysOf(world).filter(
      (each) => isPeer(each, object) && each.metadata.uid !== object.metadata.uid,
    );
    const ofPeers = peers.reduce((sum, peer) => sum + keysOf(peer).length, 0);
    return count + ofPeers <= [object, ...peers].reduce((sum, each) => sum + mostIssues(each), 0);
  }

  function mostIssues({ spec }: StoredApiKey): number {
    return spec.maxIssuesPerDay ?? 4;
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
    const keys = [...world.console.world.keys.values()].filter(
      ({ description, issueTime }) =>
        issueTime >= madeAt && issuerOf(description)?.key === placeOf(object),
    );
    // What a gateway makes of one call in addition counts for no limit.
    return [...new Map(keys.map((key) => [issuerOf(key.description)?.attempt, key])).values()];
  }
};
