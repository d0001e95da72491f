/** Gauges of objects. Scrapes collect the gauges from the statuses in the caches, so that no other memory is needed. */
import { isTrue } from "../api/conditions.ts";
import type { KubeObject } from "../kube/resource.ts";
import type { Store } from "../kube/store/store.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { Caches } from "../reconciler/context.ts";
import type { KindModule } from "../reconciler/kind-module.ts";
import type { ReportedObject } from "../reconciler/rules/report.ts";
import { samplesOf } from "../reconciler/samples.ts";

/** From now on, scrapes show the objects that this operator reconciles. */
export function exposeObjects(
  metrics: Metrics,
  kinds: readonly Pick<KindModule, "type" | "gauges">[],
  caches: Caches,
  isOurs: (object: KubeObject) => boolean,
): void {
  metrics.objectReady.collectFrom(function* () {
    for (const { type } of kinds) {
      const objects = (caches.of(type) as Store<ReportedObject>).list().filter(isOurs);
      const samples = samplesOf(objects, ({ conditions }) => (isTrue(conditions, "Ready") ? 1 : 0));
      for (const { labels, value } of samples)
        yield { labels: { kind: type.kind, ...labels }, value };
    }
  });
  metrics.partialObjects.collectFrom(function* () {
    for (const { type } of kinds) {
      const partial = caches
        .of(type)
        .list()
        .filter(({ isPartial }) => isPartial);
      if (partial.length > 0) yield { labels: { kind: type.kind }, value: partial.length };
    }
  });
  for (const { type, gauges } of kinds)
    gauges?.(metrics, () => caches.of(type).list().filter(isOurs));
}
