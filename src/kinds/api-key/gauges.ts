import type { ApiKey, ApiKeyStatus } from "../../api/api-key.ts";
import { type Condition, findCondition, isTrue } from "../../api/conditions.ts";
import { ISSUANCE_ALLOWED, isPaused } from "../../api/issuance.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { samplesOf } from "../../reconciler/samples.ts";
import { parseInstant, SECOND } from "../../util/time.ts";
import { mayWork } from "./rules/listed-keys.ts";

/** Values from a status. `undefined` exports no series. */
const values = {
  apiKeyExpiration: ({ current }) => seconds(current?.expirationTime),
  apiKeyRenewal: ({ renewalTime }) => seconds(renewalTime),
  apiKeyReady: ({ conditions }) => (isTrue(conditions, "Ready") ? 1 : 0),
  apiKeyIssuanceAllowed: ({ conditions }) => allowed(findCondition(conditions, ISSUANCE_ALLOWED)),
  orphanedKeys: ({ orphanCount = 0 }) => orphanCount,
  supersededLiveKeys: ({ superseded = [] }) => superseded.filter(mayWork).length,
  consumers: ({ consumers }) => consumers?.pods,
  staleConsumers: ({ consumers }) => consumers?.stale,
} satisfies Partial<Record<keyof Metrics, (status: ApiKeyStatus) => number | undefined>>;

export function apiKeyGauges(metrics: Metrics, apiKeys: () => Iterable<ApiKey>): void {
  for (const gauge of Object.keys(values) as (keyof typeof values)[])
    metrics[gauge].collectFrom(() => samplesOf(apiKeys(), values[gauge]));
}

/** Absent while a person has paused the object, so that no alert fires. */
function allowed(forecast: Condition | undefined): number | undefined {
  if (forecast === undefined || isPaused(forecast)) return undefined;
  return forecast.status === "True" ? 1 : 0;
}

function seconds(time: string | undefined): number | undefined {
  const instant = parseInstant(time);
  return instant && instant / SECOND;
}
