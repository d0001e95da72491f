import type { ServiceAccount } from "../../api/service-account.ts";
import type { Metrics } from "../../observability/metrics.ts";
import { samplesOf } from "../../reconciler/samples.ts";

export function serviceAccountGauges(
  metrics: Metrics,
  accounts: () => Iterable<ServiceAccount>,
): void {
  metrics.unmanagedKeys.collectFrom(function* () {
    const samples = samplesOf(accounts(), ({ unmanagedKeyCount }) => unmanagedKeyCount);
    for (const { object, labels, value } of samples) {
      const expected = String(object.spec?.unmanagedKeys === "Expect");
      yield { labels: { ...labels, expected }, value };
    }
  });
  metrics.orphanedAccounts.collectFrom(() =>
    samplesOf(accounts(), ({ orphanedAccounts = [] }) => orphanedAccounts.length),
  );
}
