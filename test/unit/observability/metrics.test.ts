import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { createMetrics } from "../../../src/observability/metrics.ts";

/** Sample lines of the text format, parsed strictly: name, labels, value. */
function parse(text: string): ReadonlyMap<string, number> {
  const samples = new Map<string, number>();
  for (const line of text.split("\n")) {
    if (line === "" || /^# (HELP|TYPE) [a-z_]+ ./.test(line)) continue;
    const sample =
      /^([a-z_]+(?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (-?[0-9.e+-]+|NaN|[+-]Inf)$/.exec(
        line.replace("+Inf", "Inf"),
      );
    if (sample === null) throw new Error(`not a sample: ${line}`);
    samples.set(sample[1] ?? "", Number(sample[2]));
  }
  return samples;
}

const setUp = () => {
  const metrics = createMetrics(new Registry());
  return { metrics, samples: async () => parse(await metrics.render()) };
};

test("the metrics are those that are documented", async () => {
  const { metrics } = setUp();
  const declared = await metrics.registry.getMetricsAsJSON();
  expect(declared.map(({ name, type }) => `${type} ${name}`).sort()).toMatchInlineSnapshot(`
    [
      "counter controller_runtime_reconcile_errors_total",
      "counter controller_runtime_reconcile_total",
      "counter controller_runtime_terminal_reconcile_errors_total",
      "counter iam_operator_apikey_issues_total",
      "counter iam_operator_drift_corrections_total",
      "counter iam_operator_events_dropped_total",
      "counter iam_operator_iam_requests_total",
      "counter iam_operator_logins_total",
      "counter iam_operator_long_turns_seconds_total",
      "counter iam_operator_omitted_state_total",
      "counter iam_operator_reappeared_policies_total",
      "counter iam_operator_stale_sync_skips_total",
      "counter iam_operator_watch_restarts_total",
      "counter iam_operator_workload_restarts_total",
      "counter rest_client_requests_total",
      "counter workqueue_adds_total",
      "counter workqueue_retries_total",
      "gauge controller_runtime_active_workers",
      "gauge controller_runtime_max_concurrent_reconciles",
      "gauge iam_operator_apikey_expiration_timestamp_seconds",
      "gauge iam_operator_apikey_issuance_allowed",
      "gauge iam_operator_apikey_ready",
      "gauge iam_operator_apikey_renewal_timestamp_seconds",
      "gauge iam_operator_consumers",
      "gauge iam_operator_object_ready",
      "gauge iam_operator_orphaned_accounts",
      "gauge iam_operator_orphaned_keys",
      "gauge iam_operator_partial_objects",
      "gauge iam_operator_resourcequota",
      "gauge iam_operator_resourcequota_created_timestamp_seconds",
      "gauge iam_operator_resourcequota_export_duration_seconds",
      "gauge iam_operator_resourcequota_export_last_success_timestamp_seconds",
      "gauge iam_operator_resourcequota_export_omitted",
      "gauge iam_operator_resourcequota_export_total",
      "gauge iam_operator_resourcequota_info",
      "gauge iam_operator_resourcequota_parse_ok",
      "gauge iam_operator_stale_consumers",
      "gauge iam_operator_store_synced",
      "gauge iam_operator_superseded_live_keys",
      "gauge iam_operator_unmanaged_keys",
      "gauge iam_operator_workqueue_oldest_age_seconds",
      "gauge leader_election_master_status",
      "gauge workqueue_depth",
      "gauge workqueue_longest_running_processor_seconds",
      "gauge workqueue_unfinished_work_seconds",
      "histogram controller_runtime_reconcile_time_seconds",
      "histogram iam_operator_iam_request_duration_seconds",
      "histogram workqueue_queue_duration_seconds",
      "histogram workqueue_work_duration_seconds",
    ]
  `);
});

test("known series start at zero", async () => {
  const { metrics, samples } = setUp();
  metrics.startController("ApiKey", 4);
  expect(Object.fromEntries(await samples())).toMatchInlineSnapshot(`
    {
      "controller_runtime_active_workers{controller="ApiKey"}": 0,
      "controller_runtime_max_concurrent_reconciles{controller="ApiKey"}": 4,
      "controller_runtime_reconcile_errors_total{controller="ApiKey"}": 0,
      "controller_runtime_reconcile_total{controller="ApiKey",result="error"}": 0,
      "controller_runtime_reconcile_total{controller="ApiKey",result="requeue"}": 0,
      "controller_runtime_reconcile_total{controller="ApiKey",result="requeue_after"}": 0,
      "controller_runtime_reconcile_total{controller="ApiKey",result="success"}": 0,
      "controller_runtime_terminal_reconcile_errors_total{controller="ApiKey"}": 0,
      "iam_operator_apikey_issues_total{result="Issued"}": 0,
      "iam_operator_apikey_issues_total{result="NotCommitted"}": 0,
      "iam_operator_apikey_issues_total{result="Unknown"}": 0,
      "iam_operator_drift_corrections_total": 0,
      "iam_operator_events_dropped_total": 0,
      "iam_operator_logins_total{result="error"}": 0,
      "iam_operator_logins_total{result="mfaRequired"}": 0,
      "iam_operator_logins_total{result="rejected"}": 0,
      "iam_operator_logins_total{result="success"}": 0,
      "iam_operator_reappeared_policies_total": 0,
      "iam_operator_stale_sync_skips_total{kind="ApiKey"}": 0,
      "iam_operator_workload_restarts_total{result="Failed"}": 0,
      "iam_operator_workload_restarts_total{result="Restarted"}": 0,
      "workqueue_adds_total{name="ApiKey"}": 0,
      "workqueue_depth{name="ApiKey"}": 0,
      "workqueue_retries_total{name="ApiKey"}": 0,
    }
  `);
});

const quota = {
  export_namespace: "team",
  export: "quotas",
  cluster_id: "7",
  namespace: "a",
  name: "limits",
};

test("the quotas of an export can be replaced", async () => {
  const { metrics, samples } = setUp();
  const before = (await samples()).size;
  for (const name of ["quotas", "others"]) {
    const labels = { ...quota, export: name };
    metrics.quotaInfo.set({ ...labels, status: "Active", request: "cpu: 1/2", limit: "" }, 1);
    metrics.quotaCreated.set(labels, 1_767_225_600);
    metrics.quotaParseOk.set(labels, 1);
    metrics.quota.set({ ...labels, resource: "cpu", type: "used" }, 1);
    metrics.quota.set({ ...labels, resource: "cpu", type: "hard" }, 2);
  }
  const ours = async () =>
    [...(await samples()).keys()].filter((name) => name.includes('"quotas"'));
  expect(await ours()).toHaveLength(5);
  metrics.forgetQuotas("team", "quotas");
  expect(await ours()).toEqual([]);
  expect((await samples()).size - before).toBe(5);
});

test("labels of any content parse", async () => {
  const { metrics, samples } = setUp();
  const request = 'cpu: "500m"/2\nmemory: 1Gi\\4Gi';
  metrics.quotaInfo.set({ ...quota, status: "Active", request, limit: "" }, 1);
  expect([...(await samples()).keys()].join()).toContain('cpu: \\"500m\\"/2\\nmemory: 1Gi\\\\4Gi');
});

test("gauges that move by themselves are brought up to date at every scrape", async () => {
  const { metrics, samples } = setUp();
  let depth = 0;
  const stop = metrics.onScrape(() => metrics.queueDepth.set({ name: "ApiKey" }, ++depth));
  const seen = async () => (await samples()).get('workqueue_depth{name="ApiKey"}');
  expect([await seen(), await seen()]).toEqual([1, 2]);
  stop();
  expect(await seen()).toBe(2);
});

test("a scrape gives others their turn after each metric", async () => {
  const { metrics } = setUp();
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await metrics.render();
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(metrics.registry.getMetricsAsArray().length);
});
