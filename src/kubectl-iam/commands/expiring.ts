/** `expiring`: lists keys that expire soon, and whether the operator will rotate them. */
import type { ApiKey } from "../../api/api-key.ts";
import { type Condition, findCondition } from "../../api/conditions.ts";
import { isBeingDeleted } from "../../util/object-meta.ts";
import { DAY, HOUR, type Instant, parseInstant } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { type ExitCode, exitCode } from "../cli/errors.ts";
import { openCluster, scopeOf } from "../cluster/cluster.ts";
import { forecastOf, NO_FORECAST } from "../cluster/forecast.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import { noteLeader, noteUnknownLeader } from "../cluster/leader.ts";
import { readWorld } from "../cluster/read.ts";
import { movingKeyText, pendingRotation } from "../cluster/rotation.ts";
import { reportOf } from "../cluster/why-delayed.ts";
import { printTable } from "../view/output.ts";
import { readinessOf } from "../view/readiness.ts";
import type { Column } from "../view/table.ts";
import { namespaceColumn } from "../view/table.ts";
import { relative, span } from "../view/time.ts";

const DEFAULT_WITHIN = 14 * DAY;
/** After this delay, a rotation is not expected to happen on its own. */
const LATE = HOUR;

const NOT_LED = "No replica of the operator leads, so nothing is renewed.";

interface ExpiringKey {
  readonly namespace: string | undefined;
  readonly apiKey: string;
  readonly keyId: string;
  readonly expirationTime: string;
  readonly renewalTime: string | undefined;
  readonly renewsByItself: boolean;
  readonly detail: string;
}

export async function run(invocation: Invocation): Promise<ExitCode> {
  const { io, options } = invocation;
  await using cluster = await openCluster(io, options);
  const { world } = await readWorld(cluster, scopeOf(cluster, options), {
    kinds: ["ApiKey"],
    labelSelector: options.selector,
  });
  const leader = await noteLeader(invocation, cluster);
  const isLed = leader.kind !== "Lost";
  const now = cluster.now();
  const within = options.within ?? DEFAULT_WITHIN;
  const rows = expiringKeys(world.apiKeys, within, now, isLed);
  const columns: readonly Column<ExpiringKey>[] = [
    ...namespaceColumn<ExpiringKey>(options),
    { title: "APIKEY", cell: ({ apiKey }) => apiKey },
    { title: "KEY-ID", cell: ({ keyId }) => keyId },
    { title: "EXPIRES", cell: ({ expirationTime }) => relative(expirationTime, now) },
    { title: "RENEWS", cell: ({ renewalTime }) => relative(renewalTime, now) },
    {
      title: "BY-ITSELF",
      cell: ({ renewsByItself }) =>
        renewsByItself ? { text: "yes", style: "good" } : { text: "no", style: "bad" },
    },
    { title: "DETAIL", cell: ({ detail }) => detail, flexible: true },
  ];
  await printTable(invocation, { rows, columns, empty: `No key expires within ${span(within)}.` });
  if (rows.some(({ renewsByItself }) => renewsByItself)) noteUnknownLeader(invocation, leader);
  return isLed && rows.every(({ renewsByItself }) => renewsByItself) ? exitCode.ok : exitCode.found;
}

/** Pure. Soonest first. */
export function expiringKeys(
  apiKeys: readonly ApiKey[],
  within: number,
  now: Instant,
  isLed: boolean,
): readonly ExpiringKey[] {
  return apiKeys
    .flatMap((apiKey) => toExpiring(apiKey, now, isLed) ?? [])
    .filter(({ expirationTime }) => (parseInstant(expirationTime) ?? now) <= now + within)
    .sort((a, b) => a.expirationTime.localeCompare(b.expirationTime));
}

function toExpiring(apiKey: ApiKey, now: Instant, isLed: boolean): ExpiringKey | undefined {
  const { metadata, status } = apiKey;
  const { current, renewalTime } = status ?? {};
  if (current === undefined) return undefined;
  const obstacle = obstacleTo(apiKey, now) ?? (isLed ? undefined : NOT_LED);
  const moving = movingKeyText(apiKey);
  return {
    namespace: metadata.namespace,
    apiKey: metadata.name,
    keyId: current.keyId,
    expirationTime: current.expirationTime,
    renewalTime,
    renewsByItself: obstacle === undefined,
    detail:
      obstacle ??
      said(reportOf(apiKey as AnyObject)) ??
      (moving === undefined ? "" : `The ${moving}`),
  };
}

/**
 * Why the operator is not expected to renew the key. Before the next key is needed, a failure that the ApiKey reports is
 * no obstacle unless the condition IssuanceAllowed reports it: it can be about something else.
 */
function obstacleTo(apiKey: ApiKey, now: Instant): string | undefined {
  if (isBeingDeleted(apiKey)) return "The ApiKey is being deleted: no other key is issued.";
  const forecast = forecastOf(apiKey);
  if (isOverBeforeRenewal(forecast, apiKey, now)) return undefined;
  if (forecast?.status !== "True") return said(forecast) ?? NO_FORECAST;
  const readiness = readinessOf(apiKey);
  const renewal = parseInstant(apiKey.status?.renewalTime);
  const isDue = renewal === undefined || renewal <= now;
  const isKeyNeeded = isDue || readiness.ready !== "True" || pendingRotation(apiKey) !== undefined;
  const isRefused = findCondition(apiKey.status?.conditions, "Verified")?.status === "False";
  const report = reportOf(apiKey as AnyObject);
  const isWaiting = report !== undefined && !UNDER_WAY.has(report.reason);
  if (isWaiting && (isKeyNeeded || isRefused)) return said(report);
  return renewal === undefined || renewal + LATE < now ? said(readiness) : undefined;
}

/** Whether only a requested rotation waits, for a limit that counts the keys of one day. */
function isOverBeforeRenewal(
  forecast: Condition | undefined,
  apiKey: ApiKey,
  now: Instant,
): boolean {
  const renewal = parseInstant(apiKey.status?.renewalTime) ?? now;
  const isDailyLimit = forecast?.status === "False" && DAILY_LIMITS.has(forecast.reason);
  return isDailyLimit && pendingRotation(apiKey) !== undefined && renewal > now + DAY;
}

const DAILY_LIMITS: ReadonlySet<string> = new Set(["BudgetExceeded", "NamespaceBudgetExceeded"]);

/** Reasons with which the operator brings the next key without manual action. */
const UNDER_WAY: ReadonlySet<string> = new Set([
  "KeyRefused",
  "Issuing",
  "Recovering",
  "Verifying",
  "WaitingForWindow",
]);

function said(report: Pick<Condition, "reason" | "message"> | undefined): string | undefined {
  return report && `${report.reason}: ${report.message}`;
}
