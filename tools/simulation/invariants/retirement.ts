/** [S3] A previous key is ended, and dropped from what consumers read, only after the overlap. */
import { annotations } from "../../../src/api/meta.ts";
import { MINUTE, parseDuration, parseInstant, SECOND } from "../../../src/util/time.ts";
import type { ChangeSeen } from "./on-change.ts";
import {
  apiKeysOf,
  asSecret,
  issuingObject,
  pairOf,
  placeOf,
  type StoredApiKey,
  targetOf,
} from "./view.ts";
import type { CreateWatcher } from "./watcher.ts";

const LEAST_OVERLAP_MS = 5 * MINUTE;

export const retirement: CreateWatcher = (world, circumstances) => {
  /** When somebody else last changed or deleted a Secret. */
  let spoiledAt = Number.NEGATIVE_INFINITY;
  const ended = new Set<string>();
  return {
    onConsoleChange: (change, byOperator) => {
      if (change.kind !== "keyStatus" && change.kind !== "keyDeleted") return undefined;
      const isTold = !byOperator || !world.console.world.accounts.has(change.saId);
      if (isTold || ended.has(change.keyId)) return undefined;
      ended.add(change.keyId);
      return tooEarly(change.keyId);
    },
    onChange: (seen) => {
      if (!seen.byOperator && seen.change.kind.type.kind === "Secret") spoiledAt = world.kernel.now;
      return seen.byOperator ? droppedEarly(seen) : undefined;
    },
  };

  function tooEarly(keyId: string): string | undefined {
    const owner = apiKeysOf(world).find(({ status }) => lists(status, keyId));
    if (owner === undefined) return unlisted(keyId);
    if (owner.metadata.deletionTimestamp !== undefined) return undefined;
    if (owner.status?.current?.keyId === keyId) return `ended ${keyId}, which is in use`;
    if (isInOverlap(owner, keyId)) return `ended ${keyId} before the overlap was over`;
    // A call that is under way cannot be called back.
    const isSpoiled = world.kernel.now - spoiledAt < SECOND;
    return hasSuccessor(owner) || isSpoiled
      ? undefined
      : `ended ${keyId} before its successor was in use`;
  }

  function isAccepted(keyId: string | undefined): boolean {
    return keyId !== undefined && world.console.world.whyKeyIsRefused(keyId) === undefined;
  }

  function unlisted(keyId: string): string | undefined {
    // A deletion also ends a key that only NAME-next holds.
    const isBeingDeleted = issuingObject(world, keyId)?.metadata.deletionTimestamp !== undefined;
    return world.hasMeddled || isBeingDeleted ? undefined : `ended ${keyId}, which nobody lists`;
  }

  function hasSuccessor(owner: StoredApiKey): boolean {
    const { current } = owner.status ?? {};
    const target = targetOf(world, owner);
    const delivered = target && pairOf(target)?.keyId;
    return current?.verificationTime !== undefined && delivered === current.keyId;
  }

  function isInOverlap({ spec, status }: StoredApiKey, keyId: string): boolean {
    const key = status?.superseded?.find((each) => each.keyId === keyId);
    const overlap = Math.max(parseDuration(spec.rotation?.overlap ?? "24h") ?? 0, LEAST_OVERLAP_MS);
    const end = Math.min(
      (parseInstant(key?.supersededTime) ?? 0) + overlap,
      parseInstant(key?.expirationTime) ?? 0,
    );
    // Times are written in whole seconds, by a clock that may be off.
    return world.kernel.now < end - SECOND - circumstances.widestSkew;
  }

  /** Where a Secret shows the previous key, it does so until the overlap is over or the next rotation comes. */
  function droppedEarly({ change }: ChangeSeen): string | undefined {
    if (change.kind.type.kind !== "Secret" || change.type !== "MODIFIED") return undefined;
    const secrets = [asSecret(change.previous ?? {}), asSecret(change.object)];
    const [old, now] = secrets.map(previousIn);
    const [replaced, current] = secrets.map((secret) => pairOf(secret)?.keyId);
    if (now === "" && !world.hasMeddled && replaced !== current && isAccepted(replaced))
      return `${placeOf(asSecret(change.object))} does not show ${replaced}, which ${current} replaces`;
    if (old === undefined || now !== "" || world.hasMeddled) return undefined;
    const place = placeOf(asSecret(change.object));
    const owner = apiKeysOf(world).find(
      ({ metadata, spec }) =>
        place === `${metadata.namespace}/${spec.secret?.name ?? metadata.name}`,
    );
    if (owner === undefined || !isInOverlap(owner, old)) return undefined;
    return `${place} no longer shows ${old}, whose overlap is not over`;
  }
};

function lists(status: StoredApiKey["status"], keyId: string): boolean {
  const { current, superseded = [] } = status ?? {};
  return [current, ...superseded].some((key) => key?.keyId === keyId);
}

/** What an entry of that name shows; absent where there is none. */
function previousIn({ data, metadata }: ReturnType<typeof asSecret>): string | undefined {
  const shown = data?.previousKeyId;
  if (shown === undefined || metadata.annotations?.[annotations.keyId] === undefined)
    return undefined;
  return Buffer.from(shown, "base64").toString("utf8");
}
