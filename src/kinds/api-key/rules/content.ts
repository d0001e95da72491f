/** The version of the Secret's content, identified by a hash. Pure. */
import { hash as digest } from "node:crypto";
import type { ApiKeyStatus } from "../../../api/api-key.ts";
import { type AgreedTime, certainTime, correctedTime } from "../../../util/agreed-time.ts";
import { ownEntry } from "../../../util/own-entry.ts";
import { Redacted } from "../../../util/redacted.ts";
import { type Instant, parseInstant, toIso8601 } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { type AccountValues, renderEntries } from "../secret/render.ts";
import { usesVariable } from "../secret/template.ts";
import { accountInUse } from "./accounts.ts";
import { declarationHash, renderingOf } from "./rendering.ts";
import type { ApiKeySnapshot } from "./snapshot.ts";

type SecretContent = NonNullable<ApiKeyStatus["content"]>;

/**
 * Identifies a version of the Secret's content without using a secret: the key ID stands for it. Excludes the previous
 * pair, because no consumer has to read the Secret again when an overlap ends.
 *
 * Pod templates store this hash: a different algorithm would restart every workload.
 */
export function contentHash(
  template: Readonly<Record<string, string>>,
  account: AccountValues,
  pair: IssuedPair,
): string {
  const open = { ...pair, secret: new Redacted("") };
  const entries = Object.entries(
    renderEntries(template, account, { pair: open, previous: undefined }).reveal(),
  );
  const text = JSON.stringify([pair.keyId, ...entries.toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  return digest("sha256", text).slice(0, 16);
}

/**
 * The `content` of the status. The first known version replaces nothing, so no Pod counts as stale: neither a Pod that
 * waits for a Secret, nor a Pod after an upgrade.
 */
export function contentOf(snapshot: ApiKeySnapshot, at: AgreedTime): SecretContent | undefined {
  const { object, spec, hasAdopted } = snapshot;
  const account = accountInUse(snapshot);
  const known = withCorrectedReplacement(object.status?.content, at);
  const rendering = renderingOf(snapshot, certainTime(at));
  if (account.kind !== "Ready" || rendering === undefined || rendering.differingEntries.length > 0)
    return known;
  const hash = contentHash(spec.secret.data, account.values, rendering.pair);
  // A Secret whose metadata differs is read in every run.
  const seen = { hash, ...(rendering.isInPlace ? asSeen(snapshot, certainTime(at)) : {}) };
  if (known?.hash === hash) return { ...known, ...seen };
  return known === undefined && hasAdopted !== true
    ? seen
    : { ...seen, replacementTime: toIso8601(at.now) };
}

/** They change with the end of an overlap. */
const PREVIOUS = ["previousKeyId", "previousSecret"];

/** Names of declared entries that the Secret once matched and no longer matches. */
export function lostEntries(snapshot: ApiKeySnapshot, now: Instant): readonly string[] {
  const { object, spec } = snapshot;
  const account = accountInUse(snapshot);
  const rendering = renderingOf(snapshot, now);
  if (account.kind !== "Ready" || rendering === undefined) return [];
  const hash = contentHash(spec.secret.data, account.values, rendering.pair);
  if (hash !== object.status?.content?.hash) return [];
  return rendering.differingEntries.filter((name) => {
    const template = ownEntry(spec.secret.data, name);
    return template !== undefined && !PREVIOUS.some((each) => usesVariable(template, each));
  });
}

function withCorrectedReplacement(
  known: SecretContent | undefined,
  at: AgreedTime,
): SecretContent | undefined {
  const time = correctedTime(parseInstant(known?.replacementTime), at);
  if (known === undefined || time === undefined) return known;
  return { ...known, replacementTime: toIso8601(time) };
}

/** If Secrets are watched: the facts that later show that the Secret need not be read. */
function asSeen(
  snapshot: ApiKeySnapshot,
  now: Instant,
): Pick<SecretContent, "declarationHash" | "resourceVersion"> {
  const { target, secretsAreWatched } = snapshot;
  if (!secretsAreWatched || target.kind !== "Ours") return {};
  return {
    declarationHash: declarationHash(snapshot, now),
    resourceVersion: target.resourceVersion,
  };
}
