/** What is cut out of a console's long texts must not hold them in memory: V8 keeps a text for a part of it. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { statusFailure } from "../../src/console/exchange/failures.ts";
import { PublishedQuotas } from "../../src/kinds/quota-export/published-quotas.ts";
import { createMetrics } from "../../src/observability/metrics.ts";
import { systemClock } from "../../src/util/time.ts";
import { heldBy } from "../support/live-heap.ts";

test("an error that is kept holds no answer", async () => {
  const failureOf = (n: number) => {
    const body = Buffer.from(JSON.stringify({ message: `${n} `.padEnd(16_000, "x") }));
    // The text of a 403 is also read, and a text that a pattern has read holds no other.
    const response = { status: 500, headers: {}, body };
    return statusFailure({ operation: "login", response, secrets: [], receivedAt: 0 }).message;
  };
  const held = await heldBy(() => Array.from({ length: 300 }, (_, n) => failureOf(n)));
  expect(held).toBeLessThan(1_000_000);
});

test("series of quotas hold no display text", async () => {
  const metrics = createMetrics(new Registry());
  const limits = { perExport: 5_000, total: 50_000 };
  const published = new PublishedQuotas(metrics, systemClock, limits, () => false);
  const held = await heldBy(async () => {
    const quotas = Array.from({ length: 500 }, (_, n) => ({
      name: `quota-${n}`,
      namespace: "team-a",
      status: undefined,
      displayRequest: `requests.example.com/resource-${n}: 1/2`.padEnd(4_000, " "),
      displayLimit: `limits.example.com/resource-${n}: 1/2`.padEnd(4_000, " "),
      createdAt: "2026-01-01T00:00:00Z",
    }));
    const key = { namespace: "team-a", name: "quotas" };
    await published.publish(key, { clusterId: 1, quotas, intervalMs: 60_000, durationMs: 1 });
    return published;
  });
  expect(await metrics.render()).toContain('resource="requests.example.com/resource-99"');
  expect(held).toBeLessThan(3_000_000);
});
