/** Gauges of objects: scrapes collect them from the statuses in the caches, so that nothing else is kept for them. */
import type { ApiKeyStatus } from "../api/api-key.ts";
import { findCondition, isTrue } from "../api/conditions.ts";
import { ISSUANCE_ALLOWED } from "../controllers/api-key/rules/blocks.ts";
import type { Caches } from "../controllers/frame/context.ts";
import type { ReportedObject } from "../controllers/frame/rules/report.ts";
import { type KubeObject, keyOf } from "../kube/resource.ts";
import type { Metrics } from "../observability/metrics.ts";
import { parseInstant, SECOND } from "../util/time.ts";

/** What a status says; without a value, there is no series. */
const ofApiKey = {
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

type ApiKeyGauge = keyof typeof ofApiKey;

/** From now on, scrapes show the objects that this operator works on. */
export function exportObjects(
  metrics: Metrics,
  caches: Caches,
  isOurs: (object: KubeObject) => boolean,
): void {
  metrics.objectReady.collectFrom(function* () {
    for (const object of reportedObjects(caches).filter(isOurs)) {
      const labels = { kind: object.kind ?? "", ...keyOf(object) };
      yield { labels, value: isTrue(object.status?.conditions, "Ready") ? 1 : 0 };
    }
  });
  for (const gauge of Object.keys(ofApiKey) as ApiKeyGauge[])
    metrics[gauge].collectFrom(function* () {
      for (const object of caches.apiKeys.list().filter(isOurs)) {
        const value = ofApiKey[gauge](object.status ?? {});
        if (value !== undefined) yield { labels: keyOf(object), value };
      }
    });
}

function reportedObjects(caches: Caches): readonly ReportedObject[] {
  return [
    ...caches.clusterConnections.list(),
    ...caches.connections.list(),
    ...caches.serviceAccounts.list(),
    ...caches.apiKeys.list(),
    ...caches.policyBindings.list(),
    ...caches.resourceQuotaExports.list(),
  ];
}

function seconds(time: string | undefined): number | undefined {
  const instant = parseInstant(time);
  return instant && instant / SECOND;
}
