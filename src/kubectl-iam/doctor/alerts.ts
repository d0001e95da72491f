/** The alerts of the chart that would fire, judged by the objects alone. Pure. */
import { findCondition, isTrue } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED, isPaused } from "../../api/issuance.ts";
import { keyText } from "../../kube/resource.ts";
import { DAY, HOUR, type Instant, parseInstant } from "../../util/time.ts";
import type { AnyObject } from "../cluster/kinds.ts";
import type { World } from "../cluster/read.ts";
import { type Finding, failed, ok, warning } from "./finding.ts";

const CHECK = "Alerts";

/** The chart's defaults. */
const SOON = 7 * DAY;
const NOW = 2 * DAY;
const LATE = HOUR;
const NOT_ROTATING = 6 * HOUR;

type Key = World["apiKeys"][number];
type Rule = readonly [alert: string, fires: (key: Key, now: Instant) => boolean];

const leftOf = ({ status }: Key, now: Instant) =>
  (parseInstant(status?.current?.expirationTime) ?? Number.POSITIVE_INFINITY) - now;
const overdueOf = ({ status }: Key, now: Instant) =>
  now - (parseInstant(status?.renewalTime) ?? Number.POSITIVE_INFINITY);

const rules: readonly Rule[] = [
  ["IAMApiKeyExpiresNow", (key, now) => leftOf(key, now) < NOW && overdueOf(key, now) > LATE],
  ["IAMApiKeyExpiresSoon", (key, now) => leftOf(key, now) < SOON && overdueOf(key, now) > LATE],
  ["IAMApiKeyNotRotating", (key, now) => overdueOf(key, now) > NOT_ROTATING],
  ["IAMApiKeyNotReady", ({ status }) => !isTrue(status?.conditions, "Ready")],
  [
    "IAMKeyIssuanceBlocked",
    ({ status }) => {
      const forecast = findCondition(status?.conditions, ISSUANCE_ALLOWED);
      return forecast?.status === "False" && !isPaused(forecast);
    },
  ],
  ["IAMOrphanedKeys", ({ status }) => (status?.orphanCount ?? 0) > 0],
  ["IAMStaleConsumers", ({ status }) => (status?.consumers?.stale ?? 0) > 0],
];

const ofObjects: readonly (readonly [alert: string, of: (world: World) => readonly AnyObject[]])[] =
  [
    [
      "IAMConnectionDown",
      (world) =>
        ([...world.clusterConnections, ...world.connections] as readonly AnyObject[]).filter(
          isNotReady,
        ),
    ],
    [
      "IAMObjectNotReady",
      (world) => [...world.serviceAccounts, ...world.policyBindings].filter(isNotReady),
    ],
    [
      "IAMUnmanagedKeys",
      (world) =>
        world.serviceAccounts.filter(
          ({ spec, status }) =>
            spec?.unmanagedKeys !== "Expect" && (status?.unmanagedKeyCount ?? 0) > 0,
        ),
    ],
    [
      "IAMOrphanedAccounts",
      (world) =>
        world.serviceAccounts.filter(({ status }) => (status?.orphanedAccounts ?? []).length > 0),
    ],
    ["IAMQuotaExportFailing", (world) => world.quotaExports.filter(isNotReady)],
  ];
const critical: readonly string[] = ["IAMApiKeyExpiresNow", "IAMConnectionDown"];

/** Ignores the time for which an alert waits before it fires. */
export function checkAlerts(world: World, now: Instant): readonly Finding[] {
  const firing = [
    ...rules.map(
      ([alert, fires]) => [alert, world.apiKeys.filter((key) => fires(key, now))] as const,
    ),
    ...ofObjects.map(([alert, of]) => [alert, of(world)] as const),
  ].filter(([, objects]) => objects.length > 0);
  if (firing.length === 0)
    return [ok(CHECK, `none of the ${rules.length + ofObjects.length} about objects would fire`)];
  return firing.map(([alert, objects]) => {
    const finding = critical.includes(alert) ? failed : warning;
    const names = objects.map(({ metadata }) => keyText({ namespace: "", ...metadata })).join(", ");
    return finding(CHECK, `${alert}: ${names}`, `docs/alerts.md explains ${alert}.`);
  });
}

function isNotReady({ status }: AnyObject): boolean {
  return !isTrue(status?.conditions, "Ready");
}
