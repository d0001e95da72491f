/** A real Prometheus on the machine, which scrapes the operator's Pods. */
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { stringify } from "yaml";
import { freePorts } from "../cluster/ports.ts";
import { until } from "./wait.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Rule {
  readonly name: string;
  readonly query: string;
  readonly state: "inactive" | "pending" | "firing";
  readonly health: "ok" | "unknown" | "err";
  readonly lastError?: string;
}

export interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: "up" | "down" | "unknown";
  readonly lastError: string;
  readonly scrapeUrl: string;
}

export interface Prometheus {
  query(expression: string): Promise<readonly Sample[]>;
  rules(): Promise<readonly Rule[]>;
  targets(): Promise<readonly Target[]>;
  stop(): void;
}

export interface PrometheusOptions {
  readonly program: string;
  readonly directory: string;
  /** The operator's Pods by name, with their addresses. Debian's Prometheus cannot ask Kubernetes itself. */
  readonly pods: () => Promise<readonly (readonly [name: string, address: string])[]>;
  readonly token: string;
  /** As in the label `job` of every series. */
  readonly job: string;
  readonly rules: object;
}

export async function startPrometheus(options: PrometheusOptions): Promise<Prometheus> {
  const directory = join(options.directory, "prometheus");
  mkdirSync(directory);
  const write = (name: string, text: string) => writeFileSync(join(directory, name), text);
  write("token", options.token);
  write("rules.yaml", stringify(options.rules));
  const discovery = await serveTargets(options);
  write("prometheus.yaml", stringify(configuration(options, discovery.url, directory)));
  const [port] = await freePorts(1);
  const address = `127.0.0.1:${port}`;
  const child = spawn(
    options.program,
    [
      `--config.file=${join(directory, "prometheus.yaml")}`,
      `--storage.tsdb.path=${join(directory, "data")}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let words = "";
  child.stderr.on("data", (chunk) => {
    words += chunk;
  });
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://${address}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { data: T; error?: string };
    if (error !== undefined) throw new Error(`${path}: ${error}`);
    return data;
  };
  await until(`Prometheus to answer\n${words.slice(-2_000)}`, 30_000, async () =>
    (await fetch(`http://${address}/-/ready`)).ok ? true : undefined,
  );
  return {
    async query(expression) {
      const { result } = await ask<{ result: { metric: Sample["metric"]; value: string[] }[] }>(
        `query?query=${encodeURIComponent(expression)}`,
      );
      return result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
    },
    async rules() {
      const { groups } = await ask<{ groups: { rules: Rule[] }[] }>("rules");
      return groups.flatMap(({ rules }) => rules);
    },
    async targets() {
      return (await ask<{ activeTargets: Target[] }>("targets")).activeTargets;
    },
    stop() {
      child.kill("SIGKILL");
      discovery.close();
    },
  };
}

/** Prometheus asks again every few seconds what there is to scrape. */
async function serveTargets({ pods }: PrometheusOptions) {
  const server = createServer((_, response) => {
    pods().then(
      (found) => {
        const targets = found.map(([pod, address]) => ({ targets: [address], labels: { pod } }));
        response.setHeader("content-type", "application/json").end(JSON.stringify(targets));
      },
      () => response.writeHead(500).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () => void server.close(),
  };
}

/** What the chart's ServiceMonitor says, in Prometheus' own words. */
function configuration({ job }: PrometheusOptions, discovery: string, directory: string) {
  return {
    global: { scrape_interval: "2s", evaluation_interval: "5s" },
    rule_files: [join(directory, "rules.yaml")],
    scrape_configs: [
      {
        job_name: job,
        scheme: "https",
        honor_labels: true,
        authorization: { credentials_file: join(directory, "token") },
        tls_config: { insecure_skip_verify: true },
        http_sd_configs: [{ url: discovery, refresh_interval: "3s" }],
      },
    ],
  };
}
