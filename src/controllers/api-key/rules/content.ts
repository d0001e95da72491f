/** What the Secret holds, told apart by a hash. Pure. */
import { createHash } from "node:crypto";
import type { ApiKeyStatus } from "../../../api/api-key.ts";
import { Redacted } from "../../../util/redacted.ts";
import { type Instant, toIso8601 } from "../../../util/time.ts";
import type { IssuedPair } from "../secret/pair.ts";
import { type AccountValues, renderEntries } from "../secret/render.ts";
import { renderingOf } from "./rendering.ts";
import type { ApiKeyProgress } from "./snapshot.ts";

type SecretContent = NonNullable<ApiKeyStatus["content"]>;

/**
 * Tells contents of the Secret apart without being made from a secret: the key's id stands for it. The previous
 * pair is left aside, since nobody has to read the Secret again because an overlap has ended.
 *
 * It is kept on Pod templates: another way to make it would restart every workload.
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
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/**
 * What the status says about the content. The first content that is known replaces nothing, so that nobody
 * counts as being behind: not who waits for a Secret, and not after an upgrade.
 */
export function contentOf(
  { snapshot, done }: ApiKeyProgress,
  now: Instant,
): SecretContent | undefined {
  const { object, spec, account } = snapshot;
  const known = object.status?.content;
  const rendering = renderingOf(snapshot, now);
  if (account.kind !== "Ready" || rendering?.isInPlace !== true) return known;
  const hash = contentHash(spec.secret.data, account.values, rendering.pair);
  if (known?.hash === hash) return known;
  return known === undefined && done.hasAdopted !== true
    ? { hash }
    : { hash, replacementTime: toIso8601(now) };
}
