import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Config, ConfigError, readCommand } from "../../../src/app/config.ts";
import { version } from "../../../src/app/version.ts";

const read = (args: readonly string[], environment: Record<string, string> = {}): Config => {
  const command = readCommand(args, environment);
  if (command.kind !== "Run") throw new Error(command.kind);
  return command.config;
};
const problem = (args: readonly string[], environment: Record<string, string> = {}): string => {
  try {
    readCommand(args, environment);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
  }
  return "";
};

test("the defaults are those that are documented", () => {
  expect(read([], { POD_NAME: "pod-1" })).toEqual({
    kubeconfig: "",
    namespaces: [],
    clusterConnections: "auto",
    readOnly: false,
    selector: "",
    clusterName: undefined,
    leaderElect: true,
    operatorNamespace: "iam-operator-system",
    concurrency: 16,
    secretCheckInterval: 300_000,
    watchSecrets: "auto",
    connectionNetworks: [],
    quotaSeriesPerExport: 5_000,
    quotaSeries: 50_000,
    consumers: "none",
    metricsAddress: { port: 8080 },
    metricsSecure: false,
    metricsCertificate: "",
    probeAddress: { port: 8081 },
    shutdownGrace: 25_000,
    logLevel: "info",
    logFormat: "json",
    instance: "pod-1",
    podServer: undefined,
    proxy: { https: "", http: "", none: "" },
    traces: undefined,
  });
});

test("the proxy comes from the variables that other programs read", () => {
  const proxy = "http://proxy.example.com:3128";
  expect(read([], { HTTPS_PROXY: proxy, no_proxy: "10.0.0.0/8" }).proxy).toEqual({
    https: proxy,
    http: "",
    none: "10.0.0.0/8",
  });
  expect(problem([], { https_proxy: "proxy.example.com" })).toBe(
    "HTTPS_PROXY: must be a URL such as http://proxy.example.com:3128",
  );
});

test("networks of Connections are addresses or networks", () => {
  expect(read(["--connection-networks=10.0.0.0/8, fd00::1"]).connectionNetworks).toEqual([
    "10.0.0.0/8",
    "fd00::1",
  ]);
  for (const text of ["any", "10.0.0.0/33", "10.0.0.0/8 fd00::1"])
    expect(problem([`--connection-networks=${text}`])).toBe(
      "--connection-networks: must be IP addresses or networks such as 10.20.0.0/16, separated by commas",
    );
});

describe("OpenTelemetry's variables", () => {
  const receiver = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318" };

  test.each<[string, Record<string, string>, Config["traces"]]>([
    ["a receiver of everything", receiver, { sampler: { name: "always_on", ratio: 1 } }],
    [
      "a receiver of traces, and some of them",
      {
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://collector/v1/traces",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.1",
      },
      { sampler: { name: "traceidratio", ratio: 0.1 } },
    ],
    ["an empty receiver", { OTEL_EXPORTER_OTLP_ENDPOINT: "" }, undefined],
    ["all of it off", { ...receiver, OTEL_SDK_DISABLED: "true" }, undefined],
    ["traces off", { ...receiver, OTEL_TRACES_EXPORTER: "none" }, undefined],
  ])("%s", (_, environment, traces) => {
    expect(read([], environment).traces).toEqual(traces);
  });

  test.each<[Record<string, string>, string]>([
    [
      { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" },
      "OTEL_EXPORTER_OTLP_ENDPOINT: must be a URL",
    ],
    [{ ...receiver, OTEL_TRACES_SAMPLER_ARG: "2" }, "OTEL_TRACES_SAMPLER_ARG: must be from 0 to 1"],
    [
      { ...receiver, OTEL_TRACES_SAMPLER: "jaeger_remote" },
      "OTEL_TRACES_SAMPLER: must be always_on",
    ],
  ])("%j are refused", (environment, advice) => {
    expect(problem([], environment)).toContain(advice);
  });
});

test("a flag wins over its variable, a variable over the default", () => {
  const environment = { IAM_OPERATOR_CONCURRENCY: "3", IAM_OPERATOR_LOG_LEVEL: "debug" };
  expect(read(["--concurrency", "5"], environment)).toMatchObject({
    concurrency: 5,
    logLevel: "debug",
  });
});

describe("values", () => {
  test.each<[string, readonly string[], Partial<Config>]>([
    ["namespaces are separated by commas", ["--namespaces", " a, b,,"], { namespaces: ["a", "b"] }],
    ["a toggle alone is true", ["--leader-elect"], { leaderElect: true }],
    ["another toggle alone", ["--metrics-secure"], { metricsSecure: true }],
    ["a toggle with a value after =", ["--leader-elect=false"], { leaderElect: false }],
    [
      "a toggle with a value after a space",
      ["--leader-elect", "false", "--concurrency", "2"],
      { leaderElect: false, concurrency: 2 },
    ],
    ["0 switches an address off", ["--metrics-address", "0"], { metricsAddress: undefined }],
    [
      "an address with a host",
      ["--probe-address", "127.0.0.1:9"],
      { probeAddress: { host: "127.0.0.1", port: 9 } },
    ],
    [
      "an address of IPv6",
      ["--probe-address", "[::1]:9"],
      { probeAddress: { host: "::1", port: 9 } },
    ],
    ["a duration", ["--shutdown-grace", "1m30s"], { shutdownGrace: 90_000 }],
  ])("%s", (_, args, expected) => {
    expect(read(args)).toMatchObject(expected);
  });
});

describe("what is wrong is said with the name of its source and what would be right", () => {
  test.each([
    [["--log-level", "loud"], {}, "--log-level: must be debug, info, warn or error"],
    [[], { IAM_OPERATOR_LOG_FORMAT: "xml" }, "IAM_OPERATOR_LOG_FORMAT: must be json or pretty"],
    [
      ["--metrics-address", "8080"],
      {},
      "--metrics-address: must be host:port, :port, or 0 to switch it off",
    ],
    [["--metrics-address", ":65536"], {}, "--metrics-address: must have a port up to 65535"],
    [["--selector", "a in (b)"], {}, "--selector: must be like team=a,tier!=test"],
    [
      ["--cluster-name=Prod"],
      {},
      "--cluster-name: must have at most 63 lower-case letters, digits, '-' and '.', such as prod-eu",
    ],
    [["--secret-check-interval", "1s"], {}, "--secret-check-interval: must be at least 5s"],
    [
      ["--secret-check-interval", "soon"],
      {},
      "--secret-check-interval: must be a duration such as 30s or 5m",
    ],
    [["--operator-namespace", ""], {}, "--operator-namespace: must name a namespace"],
    [["--concurrency", "0"], {}, "--concurrency: must be a whole number from 1 to 256"],
    [["--concurrency", "many"], {}, "--concurrency: must be a whole number from 1 to 256"],
    [
      ["--concurrency", "0", "--log-level", "x"],
      {},
      "--concurrency: must be a whole number from 1 to 256\n--log-level: must be debug, info, warn or error",
    ],
  ])("%j %j", (args, environment, message) => {
    expect(problem(args, environment)).toBe(message);
  });

  test("an unknown flag points to the help", () => {
    expect(problem(["--colour"])).toContain("--colour");
    expect(problem(["--colour"])).toContain("Run iam-operator --help for the flags there are.");
  });
});

test("help names every flag, and the version is that of the package", () => {
  const help = readCommand(["-h"], {});
  const kebab = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  for (const name of Object.keys(read([])).filter(
    (each) => !["instance", "podServer", "proxy", "traces"].includes(each),
  ))
    expect(help.kind === "Help" && help.text).toContain(`--${kebab(name)} `);
  expect(readCommand(["--version"], {})).toEqual({ kind: "Version" });
  expect(version).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
});
