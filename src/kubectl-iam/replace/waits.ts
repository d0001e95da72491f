/** What the phases of a replacement wait for, as the objects report it. */
import type { ApiKey } from "../../api/api-key.ts";
import { findCondition } from "../../api/conditions.ts";
import { DAY, type Instant, parseDuration, parseInstant, toIso8601 } from "../../util/time.ts";
import { causeOfDelay } from "../cluster/chain.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { type AnyObject, nameOf } from "../cluster/kinds.ts";
import { pendingRotation, windowTexts } from "../cluster/rotation.ts";
import { type Missing, unobserved } from "../cluster/wait.ts";

/** For a preview: a text for each wait. `isUrgent`: with --now. `isOver`: the old keys do not work any more. Pure. */
export function waitTexts(
  moving: readonly ApiKey[],
  { isUrgent = false, isOver = false }: { readonly isUrgent?: boolean; readonly isOver?: boolean },
): readonly string[] {
  if (isUrgent) return ["neither for rotation windows nor for Pods"];
  const windows = moving
    .filter((key) => key.status?.current !== undefined && pendingRotation(key) === undefined)
    .filter((key) => windowTexts(key).length > 0)
    .map(
      (key) =>
        `until a window of ${nameOf(key)} opens (--now does not wait): ${windowTexts(key).join("; ")}`,
    );
  const pods = isOver
    ? "not for Pods: the old keys do not work any more"
    : "until no Pod uses an old key, or the overlap ends";
  return [...windows, pods];
}

/** Until the Secret holds a key of the successor. */
export async function deliveryMissing(
  cluster: Cluster,
  apiKey: ApiKey,
  successor: string,
): Promise<Missing | undefined> {
  const { current } = apiKey.status ?? {};
  if (isElsewhere(apiKey, successor)) return elsewhere(apiKey, successor);
  const unseen = unobserved(apiKey, apiKey);
  if (current?.serviceAccount === successor && unseen === undefined) return undefined;
  const missing = unseen ?? (await causeOfDelay(cluster, apiKey as AnyObject));
  const { text } = missing;
  const hint = text.startsWith("WaitingForWindow") ? " (--now does not wait for a window)" : "";
  return { ...missing, text: `no key of ${successor} is delivered yet${hint}: ${text}` };
}

interface Overlap {
  readonly account: string;
  readonly successor: string;
  /** Of the command line. */
  readonly overlap: number | undefined;
}

/**
 * Until no Pod uses the key of the old account, or the overlap has passed since it was superseded. Pure.
 */
export function overlapMissing(
  apiKey: ApiKey,
  { account, successor, overlap }: Overlap,
  now: Instant,
): Missing | undefined {
  if (isElsewhere(apiKey, successor)) return elsewhere(apiKey, successor);
  const endsAt = supersededAt(apiKey, account) + (overlap ?? overlapOf(apiKey));
  const pods = findCondition(apiKey.status?.conditions, "ConsumersCurrent");
  if (pods?.status === "True" || !(now < endsAt)) return undefined;
  const why =
    pods === undefined || pods.reason === "CountingDisabled"
      ? "the operator does not count the Pods that use the old key."
      : pods.message;
  return { text: `${why} The overlap ends at ${toIso8601(endsAt)}` };
}

/** When a key of the account that may work was last superseded; `-Infinity` if the status lists none. */
function supersededAt({ status }: ApiKey, account: string): Instant {
  const times = (status?.superseded ?? [])
    .filter((key) => key.serviceAccount === account && MAY_WORK.has(key.state))
    .map(({ supersededTime }) => parseInstant(supersededTime) ?? Number.NEGATIVE_INFINITY);
  return Math.max(Number.NEGATIVE_INFINITY, ...times);
}

const MAY_WORK: ReadonlySet<string> = new Set(["Live", "Unknown"]);

function overlapOf({ spec }: ApiKey): number {
  return parseDuration(spec.rotation?.overlap ?? "") ?? DAY;
}

function isElsewhere({ spec }: ApiKey, successor: string): boolean {
  return spec.serviceAccountRef.name !== successor;
}

function elsewhere({ spec }: ApiKey, successor: string): Missing {
  return {
    text: `spec.serviceAccountRef was changed from ${successor} to ${spec.serviceAccountRef.name}; if a GitOps tool did that, use --export`,
    isFinal: true,
  };
}
