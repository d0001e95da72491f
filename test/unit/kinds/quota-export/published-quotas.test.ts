import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { PublishedQuotas } from "../../../../src/kinds/quota-export/published-quotas.ts";
import { createMetrics } from "../../../../src/observability/metrics.ts";
import { MINUTE } from "../../../../src/util/time.ts";
import { createFakeClock } from "../../../support/fake-clock.ts";

/** Twenty quotas with this text. */
function listingOf(displayRequest: string) {
  const quotas = Array.from({ length: 20 }, (_, n) => ({
    name: `q${n}`,
    namespace: "n",
    status: undefined,
    displayRequest,
    displayLimit: "",
    createdAt: "",
  }));
  return { clusterId: 7, quotas, intervalMs: MINUTE, durationMs: 1 };
}

function publishedWithin(limits: { readonly perExport: number; readonly total: number }) {
  return new PublishedQuotas(createMetrics(new Registry()), createFakeClock(), limits, () => false);
}

const keyOf = (name: string) => ({ namespace: "a", name });

test("series of all exports together are limited as well, and room that gets free is used", async () => {
  const published = publishedWithin({ perExport: 30, total: 40 });
  // Five series each.
  const listing = listingOf("cpu: 1/2");
  expect(await published.publish(keyOf("first"), listing)).toBe(14);
  expect(await published.publish(keyOf("second"), listing)).toBe(18);
  published.drop(keyOf("first"));
  expect(await published.publish(keyOf("second"), listing)).toBe(14);
});

test("series of exports that are published at the same time are limited together", async () => {
  const published = publishedWithin({ perExport: 30, total: 40 });
  const listing = listingOf("cpu: 1/2");
  const both = ["first", "second"].map((name) => published.publish(keyOf(name), listing));
  expect(await Promise.all(both)).toEqual([14, 18]);
});

test("series with long labels count as several", async () => {
  const published = publishedWithin({ perExport: 60, total: 60 });
  expect(await published.publish(keyOf("first"), listingOf("x".repeat(4_000)))).toBe(8);
});

test("after three missed intervals, only the time of the last listing is left, until the export goes or is suspended", async () => {
  const registry = new Registry();
  const metrics = createMetrics(registry);
  const clock = createFakeClock();
  let suspended = false;
  const limits = { perExport: 100, total: 100 };
  const published = new PublishedQuotas(metrics, clock, limits, () => suspended);
  const names = async () => {
    published.dropOutdated();
    return [...(await metrics.render()).matchAll(/^iam_operator_resourcequota_(\w+)\{/gm)].map(
      ([, name]) => name,
    );
  };
  const lastSuccess = "export_last_success_timestamp_seconds";
  await published.publish(keyOf("first"), listingOf("cpu: 1/2"));
  const all = await names();
  expect(all).toContain(lastSuccess);
  expect(all.length).toBeGreaterThan(20);
  await clock.advance(3 * MINUTE + 1);
  expect(await names()).toEqual([lastSuccess]);
  await published.publish(keyOf("first"), listingOf("cpu: 1/2"));
  expect(await names()).toEqual(all);
  await clock.advance(3 * MINUTE + 1);
  await names();
  published.drop(keyOf("first"));
  expect(await names()).toEqual([]);
  await published.publish(keyOf("first"), listingOf("cpu: 1/2"));
  await clock.advance(3 * MINUTE + 1);
  expect(await names()).toEqual([lastSuccess]);
  suspended = true;
  expect(await names()).toEqual([]);
});
