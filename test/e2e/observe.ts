/** Whether alerts and dashboard see the operator: asked of a real Prometheus, and compared with the console. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CHART } from "../../scripts/chart/helm.ts";
import { findLeaks } from "../real-world/leaks.ts";
import { findProgram } from "../support/prometheus-programs.ts";
import type { TraceReceiver } from "../support/trace-receiver.ts";
import { type Prometheus, startPrometheus } from "./prometheus.ts";
import { RELEASE, type Stage, SYSTEM, TEAM } from "./stage.ts";
import { until } from "./wait.ts";

const MONITORING = "monitoring";
const JOB = `${RELEASE}-metrics`;
const account = { namespace: MONITORING, name: "prometheus" };

/** Values of the chart for an operator that is watched. */
export function watchedBy(receiver: TraceReceiver): readonly string[] {
  return [
    "--set=metrics.secure.enabled=true",
    `--set=metrics.secure.readers[0].namespace=${account.namespace}`,
    `--set=metrics.secure.readers[0].name=${account.name}`,
    `--set=tracing.endpoint=${receiver.url}`,
  ];
}

/** `undefined` where this machine has no Prometheus. */
export async function startWatching(stage: Stage): Promise<Prometheus | undefined> {
  const program = findProgram("prometheus");
  if (program === undefined) return undefined;
  const { kubectl, helm, directory } = stage;
  await kubectl(["create", "namespace", account.namespace]);
  await kubectl(["create", "serviceaccount", account.name, `-n=${account.namespace}`]);
  const token = await kubectl([
    "create",
    "token",
    account.name,
    `-n=${account.namespace}`,
    "--duration=2h",
  ]);
  const rules = await helm(
    "template",
    RELEASE,
    CHART,
    `--namespace=${SYSTEM}`,
    "--set=metrics.prometheusRule.create=true",
    "--show-only=templates/prometheus-rule.yaml",
  );
  return startPrometheus({
    program,
    directory,
    pods: async () =>
      (await operatorPods(stage)).map(({ name, address }) => [name, `${address}:8080`] as const),
    token: token.trim(),
    job: JOB,
    rules: parse(rules).spec,
  });
}

/** Series that an undisturbed operator does not have, with the reason. */
const without: readonly (readonly [RegExp, string])[] = [
  [/^iam_operator_watch_restarts_total.*reason!="Ended"/, "no watch has broken"],
];

/** Every query returns data; where it asks for trouble, the series that it asks about are there. */
export async function judgeQueries(prometheus: Prometheus): Promise<string> {
  const panels = dashboardQueries();
  const alerts = await prometheus.rules();
  const asked = { panels: panels.length, alerts: alerts.length };
  if (asked.panels < 30 || asked.alerts < 15) throw new Error(JSON.stringify(asked));
  await until("data for every query", 90_000, async () => {
    const missing = await missingData(prometheus, [...panels, ...alerts.map(({ query }) => query)]);
    if (missing.length > 0) throw new Error(`no data:\n${missing.join("\n")}`);
    return true;
  });
  const broken = (await prometheus.rules()).filter(({ health }) => health === "err");
  if (broken.length > 0) throw new Error(JSON.stringify(broken));
  return `${asked.panels} queries of the dashboard, ${asked.alerts} alerts`;
}

async function missingData(
  { query }: Prometheus,
  expressions: readonly string[],
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const expression of expressions) {
    const isEmpty = (await query(expression)).length === 0;
    if (isEmpty && !/[<>=]=? *\d|absent/.test(expression)) missing.push(expression);
    for (const [selector] of expression.matchAll(/\b[a-z_]+\{[^}]*\}/g)) {
      const isExcused = without.some(([pattern]) => pattern.test(selector));
      if (!isExcused && (await query(selector)).length === 0) missing.push(selector);
    }
  }
  return [...new Set(missing)];
}

function dashboardQueries(): readonly string[] {
  const file = join(CHART, "files/dashboards/iam-operator.json");
  const { panels, templating } = JSON.parse(readFileSync(file, "utf8")) as {
    panels: { targets?: { expr: string }[] }[];
    templating: { list: { type: string; query: string }[] };
  };
  const variables = templating.list
    .filter(({ type }) => type === "query")
    .map(({ query }) =>
      query.replace(/^label_values\((\w+), (\w+)\)$/, 'count by ($2) ($1{$2=~".*"})'),
    );
  return [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...variables,
  ].map((query) =>
    query
      .replaceAll("$__rate_interval", "1m")
      .replaceAll("$job", ".*")
      .replaceAll("$namespace", ".*"),
  );
}

/** The quota metrics against what the console lists. */
export async function judgeQuotas(prometheus: Prometheus, stage: Stage): Promise<string> {
  const clusterId = 7;
  const of = `export="cluster-${clusterId}",export_namespace="${TEAM}"`;
  const listed = stage.console.world.clusters.get(clusterId)?.quotas ?? [];
  const shown = await prometheus.query(`iam_operator_resourcequota_info{${of}}`);
  const lines = shown.map(({ metric }) =>
    [metric.namespace, metric.name, metric.status, metric.request, metric.limit].join("|"),
  );
  const wanted = listed.map(({ namespace, name, status, displayRequest, displayLimit }) =>
    [namespace, name, status ?? "", displayRequest, displayLimit].join("|"),
  );
  same("quotas", lines, wanted);
  const [total] = await prometheus.query(`iam_operator_resourcequota_export_total{${of}}`);
  same("their number", [String(total?.value)], [String(listed.length)]);

  const amounts = await prometheus.query(`iam_operator_resourcequota{${of},resource="cpu"}`);
  const cores = listed.flatMap(({ namespace, name, displayRequest }) => {
    const [, used, milli, hard] = /^cpu: (\d+)(m?)\/(\d+)(?:,|$)/.exec(displayRequest) ?? [];
    if (hard === undefined) return [];
    const isUsed = Number(used) / (milli === "m" ? 1_000 : 1);
    return [`${namespace}|${name}|used|${isUsed}`, `${namespace}|${name}|hard|${Number(hard)}`];
  });
  same(
    "cores",
    amounts.map(({ metric, value }) =>
      [metric.namespace, metric.name, metric.type, value].join("|"),
    ),
    cores,
  );
  return `${listed.length} quotas, ${cores.length} amounts of cores`;
}

function same(what: string, shown: readonly string[], wanted: readonly string[]): void {
  const [left, right] = [shown.toSorted().join("\n"), wanted.toSorted().join("\n")];
  if (wanted.length === 0 || left !== right)
    throw new Error(`${what} at the console:\n${right}\nin Prometheus:\n${left}`);
}

/** Every Pod of the operator is scraped, with a token over HTTPS; without one nothing is shown. */
export async function judgeTargets(prometheus: Prometheus, stage: Stage): Promise<string> {
  const count = await until("every Pod to be scraped", 60_000, async () => {
    const pods = (await operatorPods(stage)).map(({ name }) => name);
    const targets = await prometheus.targets();
    const up = targets.filter(({ health }) => health === "up").map(({ labels }) => labels.pod);
    if (pods.length === 0 || up.toSorted().join() !== pods.toSorted().join())
      throw new Error(JSON.stringify({ pods, targets }));
    return up.length;
  });
  const [target] = await prometheus.targets();
  const { status } = await fetch(target?.scrapeUrl.replace("https:", "http:") ?? "").catch(() => ({
    status: 0,
  }));
  if (status !== 0) throw new Error(`metrics over plain HTTP: ${status}`);
  return `${count} Pods`;
}

async function operatorPods({ kubectl }: Stage) {
  const ofOperator = [
    "-l",
    `app.kubernetes.io/name=${RELEASE}`,
    "--field-selector=status.phase=Running",
  ];
  const { items } = JSON.parse(
    await kubectl(["get", "pods", `-n=${SYSTEM}`, ...ofOperator, "-o=json"]),
  ) as {
    items: { metadata: { name: string; deletionTimestamp?: string }; status: { podIP: string } }[];
  };
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, status }) => ({ name: metadata.name, address: status.podIP }));
}

/** The traces of the run lead from an object to the console's calls for it, and hold no secret. */
export async function judgeTraces(
  receiver: TraceReceiver,
  { console: iam }: Stage,
): Promise<string> {
  const issues = await until("a trace of an issued key", 30_000, async () => {
    const found = receiver.spans.filter(({ name }) => name === "console issueKey");
    return found.length > 0 ? found : undefined;
  });
  for (const issue of issues) {
    const pass = receiver.spans.find(({ spanId }) => spanId === issue.parentSpanId);
    if (pass?.name !== "reconcile ApiKey" || pass.fields.namespace !== TEAM)
      throw new Error(`no pass around ${JSON.stringify(issue)}: ${JSON.stringify(pass)}`);
  }
  const leaks = findLeaks({ traces: receiver.text() }, iam.world.issuedSecrets());
  if (leaks.length > 0) throw new Error(`secrets in traces: ${JSON.stringify(leaks)}`);
  return `${receiver.spans.length} spans, ${issues.length} issued keys`;
}

/** Resident megabytes of every Pod of the operator. */
export async function memoryOf(prometheus: Prometheus): Promise<number[]> {
  const samples = await prometheus.query(`process_resident_memory_bytes{job="${JOB}"}`);
  return samples.map(({ value }) => Math.round(value / 1e6));
}
