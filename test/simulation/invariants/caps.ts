/** [S4] How many keys may be issued a day, and be alive at once, whatever crashes and restarts there are. */
import { liveKeyCap, safetyLimit } from "../../../src/controllers/api-key/schedule.ts";
import { DAY, parseInstant, SECOND } from "../../../src/util/time.ts";
import type { ChangeSeen } from "./on-change.ts";
import { apiKeysOf, asApiKey, issuerOf, placeOf, type StoredApiKey } from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

/** The window of the daily budget moves on when a day is over, and not before. */
export const budgetWindow: CreateWatcher = (world, circumstances) => ({
  onChange: ({ change, byOperator }: ChangeSeen) => {
    if (!byOperator || change.kind.type.kind !== "ApiKey" || world.hasMeddled) return undefined;
    const old = asApiKey(change.previous ?? {}).status?.issues;
    const now = asApiKey(change.object).status?.issues;
    if (old === undefined || (old.since === now?.since && old.count - 1 <= now.count))
      return undefined;
    const from = parseInstant(old.since) ?? 0;
    const to = parseInstant(now?.since) ?? 0;
    // Between the least and the greatest that clocks have been off lies twice as much.
    return to >= from + DAY - SECOND - 2 * circumstances.widestSkew
      ? undefined
      : `the count of issues since ${old.since} was forgotten`;
  },
});

/** Keys of one object: of those issued in one window, and of those alive at once. */
export const caps: CreateWatcher = (world, circumstances) => {
  /** Keys that a person asked for by annotation: no cap holds them up. */
  const requested = new Set<string>();
  return {
    onConsoleChange: (change, byOperator) => {
      if (change.kind !== "keyIssued" || !byOperator || world.hasMeddled) return undefined;
      const key = world.console.world.keys.get(change.keyId);
      const issuer = key && issuerOf(key.description);
      const object = apiKeysOf(world).find((each) => placeOf(each) === issuer?.key);
      if (key === undefined || object === undefined) return undefined;
      if (object.status?.attempt?.reason === "RotationRequested") requested.add(key.keyId);
      return requested.has(key.keyId) ? undefined : (overBudget(object) ?? overCap(object));
    },
  };

  function overBudget(object: StoredApiKey): string | undefined {
    const since = parseInstant(object.status?.issues?.since) ?? 0;
    const from = since - SECOND - 2 * circumstances.widestSkew;
    const issued = keysOf(object).filter(
      ({ keyId, issuedAt }) => issuedAt >= from && !requested.has(keyId),
    );
    const most = object.spec.maxIssuesPerDay ?? 4;
    return issued.length <= most
      ? undefined
      : `${issued.length} keys of ${placeOf(object)} in one day, at most ${most} are allowed`;
  }

  function overCap(object: StoredApiKey): string | undefined {
    const { now } = world.kernel;
    const { current } = object.status ?? {};
    const live = keysOf(object).filter((key) => key.status === "active" && now < key.expiresAt);
    const cap = liveKeyCap(object.spec as Parameters<typeof liveKeyCap>[0], object.metadata.uid);
    if (live.length <= cap || current === undefined) return undefined;
    const { issuedAt, expiresAt } = current;
    const limit = safetyLimit({
      issuedAt: parseInstant(issuedAt) ?? 0,
      expiresAt: parseInstant(expiresAt) ?? 0,
    });
    // Shortly before its key ends, a consumer matters more than the cap.
    if (now >= limit - circumstances.widestSkew) return undefined;
    return `${live.length} keys of ${placeOf(object)} are alive, at most ${cap} are allowed`;
  }

  /** Since it was made: another object of its name may have had some too. */
  function keysOf(object: StoredApiKey) {
    const madeAt = parseInstant(object.metadata.creationTimestamp) ?? 0;
    return [...world.console.world.keys.values()].filter(
      ({ description, issuedAt }) =>
        issuedAt >= madeAt && issuerOf(description)?.key === placeOf(object),
    );
  }
};
