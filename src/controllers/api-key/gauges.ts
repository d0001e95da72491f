import type { ApiKey, ApiKeyStatus } from "../../api/api-key.ts";
import { findCondition, isTrue } from "../../api/conditions.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { parseInstant, SECOND } from "../../util/time.ts";
import { samplesOf } from "../frame/samples.ts";
import { ISSUANCE_ALLOWED } from "./rules/blocks.ts";

/** Values from a status. `undefined` exports no series. */
const values = {
  apiKeyExpiration: ({ current }) => seconds(current?.expirationTime),
  apiKeyRenewal: ({ renewalTime }) => seconds(renewalTime),
  apiKeyReady: ({ conditions }) => (isTrue(conditions, "Ready") ? 1 : 0),
  apiKeyIssuanceAllowed: ({ conditions }) =>
    findCondition(conditions, ISSUANCE_ALLOWED)?.status === "False" ? 0 : 1,
  orphanedKeys: ({ orphanCount = 0 }) => orphanCount,
  supersededLiveKeys: ({ superseded = [] }) =>
    superseded.filter(({ state }) => state === "Live").length,
  consumers: ({ consumers }) => consumers?.pods,
  staleConsumers: ({ consumers }) => consumers?.stale,
} satisfies Partial<Record<keyof Metrics, (status: ApiKeyStatus) => number | undefined>>;

export function apiKeyGauges(metrics: Metrics, apiKeys: () => Iterable<ApiKey>): void {
  for (const gauge of Object.keys(values) as (keyof typeof values)[])
    metrics[gauge].collectFrom(() => samplesOf(apiKeys(), values[gauge]));
}

function seconds(time: string | undefined): number | undefined {
  const instant = parseInstant(time);
  return instant && instant / SECOND;
}
