/** The reference of metrics, from the metrics themselves. */
import { Registry } from "prom-client";
import { createMetrics, LAG_SAMPLE_MS } from "../src/observability/metrics.ts";

interface Declared {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

/** By the first of these that fits; every metric is in one section. */
const sections: readonly (readonly [title: string, about: string, pattern: RegExp])[] = [
  [
    "Keys",
    "One series for each ApiKey, as its status says.",
    /^iam_operator_(apikey|orphaned_keys|superseded)/,
  ],
  [
    "Consumers",
    "Pods that read the Secrets of keys.",
    /^iam_operator_(consumers|stale_consumers|workload)/,
  ],
  [
    "Objects",
    "",
    /^iam_operator_(object_ready|partial_objects|drift|reappeared|unmanaged|orphaned_accounts)/,
  ],
  [
    "Quotas",
    "What ResourceQuotaExports have listed. A scrape reads the last listing and never asks the console.",
    /^iam_operator_resourcequota/,
  ],
  ["Console", "", /^iam_operator_(iam_|logins)/],
  ["Kubernetes", "", /^(rest_client|leader_election|iam_operator_(watch|store|events))/],
  [
    "Controllers",
    "Named as in controller-runtime, so that its dashboards work. The label `controller` is a kind.",
    /^(controller_runtime|iam_operator_(stale|omitted|long_turns))/,
  ],
  ["Queues", "The label `name` is a kind.", /workqueue/],
];

export function toMetricsPage(): string {
  const registry = new Registry();
  createMetrics(registry);
  const declared = (registry.getMetricsAsArray() as unknown as Declared[]).map((metric) => ({
    ...metric,
    section: sections.findIndex(([, , pattern]) => pattern.test(metric.name)),
  }));
  const homeless = declared.filter(({ section }) => section < 0).map(({ name }) => name);
  if (homeless.length > 0) throw new Error(`no section for ${homeless.join(", ")}`);
  const parts = sections.flatMap(([title, about], index) => {
    const rows = declared.filter(({ section }) => section === index).map(row);
    const table = [HEAD, ...rows].join("\n");
    return rows.length === 0 ? [] : [`## ${title}`, ...(about === "" ? [] : [about]), table];
  });
  return `${[INTRODUCTION, ...parts, CLOSING].join("\n\n")}\n`;
}

function row({ name, type, labelNames, help }: Declared): string {
  const labels = labelNames.map((label) => `\`${label}\``).join(", ") || "none";
  return `| \`${name}\` | ${type} | ${labels} | ${help.replace(/<\w+>/g, "`$&`")} |`;
}

const HEAD = "| metric | type | labels | meaning |\n| --- | --- | --- | --- |";

const INTRODUCTION = `# Metrics

What \`/metrics\` shows, on port 8080 unless \`--metrics-address\` says otherwise. Labels hold names of objects and words of a
closed list, never a secret and never an id of a key. The series of an object are deleted with it.

Only the Pod that leads has series of objects and controllers; the others tell about themselves and their caches. How to
let only Prometheus read them is in [docs/observability.md](../observability.md), the alerts are in
[docs/alerts.md](../alerts.md).`;

const CLOSING = `## Process

\`process_*\` and \`nodejs_*\`, as prom-client has them: memory, CPU, open files, event loop lag and garbage collection.
The percentiles of the lag are measured with a timer of ${LAG_SAMPLE_MS} ms, which they include.

This page is generated from the metrics in \`src/observability\`.`;
