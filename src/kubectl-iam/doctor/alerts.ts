/** The alerts that fire with the chart's default rules if nothing changes, judged by the objects alone. Pure. */
import { findCondition, isTrue } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED, isPaused } from "../../api/issuance.ts";
import { DAY, HOUR, type Instant, parseInstant } from "../../util/time.ts";
import { type AnyObject, type Named, nameOf } from "../cluster/kinds.ts";
import type { Reading, World } from "../cluster/read.ts";
import { type Finding, failed, ok, unknown, warning } from "./finding.ts";

const CHECK = "Alerts";

/** The chart's defaults. The rules in the cluster can have other values. */
const SOON = 7 * DAY;
const NOW = 2 * DAY;
const LATE = HOUR;
const NOT_ROTATING = 6 * HOUR;

const ABSENT = "IAMOperatorAbsent";

/** Of an operator that no replica leads. */
export const operatorAbsent = (): Finding => alertFinding(ABSENT, "10m");

type Key = World["apiKeys"][number];
/** An alert fires once its cause has lasted for `after`. */
type Rule = readonly [alert: string, after: string, fires: (key: Key, now: Instant) => boolean];

const leftOf = ({ status }: Key, now: Instant) =>
  (parseInstant(status?.current?.expirationTime) ?? Number.POSITIVE_INFINITY) - now;
const overdueOf = ({ status }: Key, now: Instant) =>
  now - (parseInstant(status?.renewalTime) ?? Number.POSITIVE_INFINITY);

const rules: readonly Rule[] = [
  ["IAMApiKeyExpiresNow", "5m", (key, now) => leftOf(key, now) < NOW && overdueOf(key, now) > LATE],
  [
    "IAMApiKeyExpiresSoon",
    "15m",
    (key, now) => leftOf(key, now) < SOON && overdueOf(key, now) > LATE,
  ],
  ["IAMApiKeyNotRotating", "15m", (key, now) => overdueOf(key, now) > NOT_ROTATING],
  ["IAMApiKeyNotReady", "30m", ({ status }) => !isTrue(status?.conditions, "Ready")],
  [
    "IAMKeyIssuanceBlocked",
    "30m",
    ({ status }) => {
      const forecast = findCondition(status?.conditions, ISSUANCE_ALLOWED);
      return forecast?.status === "False" && !isPaused(forecast);
    },
  ],
  ["IAMOrphanedKeys", "5m", ({ status }) => (status?.orphanCount ?? 0) > 0],
  ["IAMStaleConsumers", "60m", ({ status }) => (status?.consumers?.stale ?? 0) > 0],
];

type ObjectRule = readonly [
  alert: string,
  after: string,
  of: (world: World) => readonly AnyObject[],
];

const ofObjects: readonly ObjectRule[] = [
  [
    "IAMConnectionDown",
    "10m",
    (world) =>
      ([...world.clusterConnections, ...world.connections] as readonly AnyObject[]).filter(
        isNotReady,
      ),
  ],
  [
    "IAMObjectNotReady",
    "30m",
    (world) => [...world.serviceAccounts, ...world.policyBindings].filter(isNotReady),
  ],
  [
    "IAMUnmanagedKeys",
    "5m",
    (world) =>
      world.serviceAccounts.filter(
        ({ spec, status }) =>
          spec?.unmanagedKeys !== "Expect" && (status?.unmanagedKeyCount ?? 0) > 0,
      ),
  ],
  [
    "IAMOrphanedAccounts",
    "5m",
    (world) =>
      world.serviceAccounts.filter(({ status }) => (status?.orphanedAccounts ?? []).length > 0),
  ],
  ["IAMQuotaExportFailing", "30m", (world) => world.quotaExports.filter(isNotReady)],
];
const critical: readonly string[] = ["IAMApiKeyExpiresNow", "IAMConnectionDown", ABSENT];

/** `namespace`: of the objects read, if not of all. How long a cause has lasted already is not judged. */
export function checkAlerts(
  { world, unreadable }: Reading,
  namespace: string | undefined,
  now: Instant,
): readonly Finding[] {
  const rising = [
    ...rules.map(
      ([alert, after, fires]) =>
        [alert, after, world.apiKeys.filter((key) => fires(key, now))] as const,
    ),
    ...ofObjects.map(([alert, after, of]) => [alert, after, of(world)] as const),
  ].filter(([, , objects]) => objects.length > 0);
  if (rising.length === 0) {
    const where = namespace === undefined ? "any namespace" : `namespace ${namespace}`;
    const none = `none of the chart's ${rules.length + ofObjects.length} default rules about objects has a cause in ${where}`;
    return [
      unreadable.length === 0
        ? ok(CHECK, none)
        : unknown(CHECK, `${none}, as far as you have permission to list the objects`),
    ];
  }
  return rising.map(([alert, after, objects]) =>
    alertFinding(alert, after, `: ${objects.map(titleOf).join(", ")}`),
  );
}

function alertFinding(alert: string, after: string, about = ""): Finding {
  const finding = critical.includes(alert) ? failed : warning;
  return finding(
    CHECK,
    `with the chart's default rules, ${alert} fires when its cause has lasted for ${after}${about}`,
    `docs/alerts.md explains ${alert}.`,
  );
}

function titleOf(object: Named): string {
  const { namespace } = object.metadata;
  return namespace === undefined ? nameOf(object) : `${nameOf(object)} in ${namespace}`;
}

function isNotReady({ status }: AnyObject): boolean {
  return !isTrue(status?.conditions, "Ready");
}
