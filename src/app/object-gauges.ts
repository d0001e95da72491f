/** Gauges of objects: scrapes collect them from the statuses in the caches, so that nothing else is kept for them. */
import type { ApiKeyStatus } from "../api/api-key.ts";
import { findCondition, isTrue } from "../api/conditions.ts";
import { ISSUANCE_ALLOWED } from "../controllers/api-key/rules/blocks.ts";
import type { Caches } from "../controllers/frame/context.ts";
import type { KindModule } from "../controllers/frame/kind-module.ts";
import type { CommonStatus, ReportedObject } from "../controllers/frame/rules/report.ts";
import { kinds as allKinds } from "../controllers/kinds.ts";
import { apiKeyType, serviceAccountType } from "../controllers/resource-types.ts";
import { type KubeObject, keyOf } from "../kube/resource.ts";
import type { Metrics } from "../observability/metrics.ts";
import { parseInstant, SECOND } from "../util/time.ts";

/** What a status says; without a value, there is no series. */
const ofApiKey = {
  apiKeyExpiration: ({ current }) => seconds(current?.expirationTime),
  apiKeyRenewal: ({ renewalTime }) => seconds(renewalTime),
  apiKeyReady: isReady,
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
export function exposeObjects(
  metrics: Metrics,
  caches: Caches,
  isOurs: (object: KubeObject) => boolean,
  kinds: readonly KindModule[] = allKinds,
): void {
  metrics.objectReady.collectFrom(function* () {
    for (const object of reportedObjects(caches, kinds).filter(isOurs)) {
      const value = valueIn(object.status, isReady);
      if (value !== undefined)
        yield { labels: { kind: object.kind ?? "", ...keyOf(object) }, value };
    }
  });
  metrics.unmanagedKeys.collectFrom(function* () {
    for (const object of caches.of(serviceAccountType).list().filter(isOurs)) {
      const value = valueIn(object.status, ({ unmanagedKeyCount }) => unmanagedKeyCount);
      const expected = String(object.spec?.unmanagedKeys === "Expect");
      if (value !== undefined) yield { labels: { ...keyOf(object), expected }, value };
    }
  });
  metrics.partialObjects.collectFrom(function* () {
    const partial = reportedObjects(caches, kinds).filter(({ isPartial }: KubeObject) => isPartial);
    const counts = Map.groupBy(partial, ({ kind = "" }) => kind);
    for (const [kind, { length }] of counts) yield { labels: { kind }, value: length };
  });
  metrics.orphanedAccounts.collectFrom(function* () {
    for (const object of caches.of(serviceAccountType).list().filter(isOurs)) {
      const value = valueIn(object.status, (status) => status.orphanedAccounts?.length ?? 0);
      if (value !== undefined) yield { labels: keyOf(object), value };
    }
  });
  for (const gauge of Object.keys(ofApiKey) as ApiKeyGauge[])
    metrics[gauge].collectFrom(function* () {
      for (const object of caches.of(apiKeyType).list().filter(isOurs)) {
        const value = valueIn(object.status, ofApiKey[gauge]);
        if (value !== undefined) yield { labels: keyOf(object), value };
      }
    });
}

/** A stored status may be older than any schema: one that cannot be read takes no other's series away. */
function valueIn<Status>(
  status: Status | undefined,
  read: (status: Partial<Status>) => number | undefined,
): number | undefined {
  try {
    return read(status ?? {});
  } catch {
    return undefined;
  }
}

function reportedObjects(caches: Caches, kinds: readonly KindModule[]): readonly ReportedObject[] {
  return kinds.flatMap(({ type }) => caches.of(type).list() as readonly ReportedObject[]);
}

function isReady({ conditions }: CommonStatus): number {
  return isTrue(conditions, "Ready") ? 1 : 0;
}

function seconds(time: string | undefined): number | undefined {
  const instant = parseInstant(time);
  return instant && instant / SECOND;
}
