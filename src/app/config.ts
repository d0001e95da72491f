/** Flags and environment → Config. The only reader of the environment. */
import { hostname } from "node:os";
import { parseArgs } from "node:util";
import * as z from "zod";
import { parseNetwork } from "../http/networks.ts";
import { type ProxyEnvironment, readProxyEnvironment } from "../http/proxy.ts";
import { parseLabelSelector } from "../kube/label-selector.ts";
import { ownEntry } from "../util/own-entry.ts";
import { DURATION_PATTERN, parseDuration } from "../util/time.ts";

const duration = z
  .string()
  .regex(DURATION_PATTERN, "must be a duration such as 30s or 5m")
  .transform((text) => parseDuration(text) ?? 0);
const toggle = z
  .enum(["true", "false", ""], "must be true or false")
  .transform((text) => text !== "false");
const MAX_PORT = 65_535;
const address = z
  .string()
  .regex(/^([^\s]*):[0-9]{1,5}$|^0$/, "must be host:port, :port, or 0 to switch it off")
  .transform((text) => {
    if (text === "0") return undefined;
    const colon = text.lastIndexOf(":");
    const host = text.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
    return { ...(host === "" ? {} : { host }), port: Number(text.slice(colon + 1)) };
  })
  .refine((parsed) => (parsed?.port ?? 0) <= MAX_PORT, `must have a port up to ${MAX_PORT}`);
function wholeNumber(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.coerce.number(message).int(message).min(least, message).max(most, message);
}
const names = z.string().transform(namesOf);
function namesOf(text: string): readonly string[] {
  return text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
}

interface Flag {
  readonly schema: z.ZodType;
  readonly fallback: string;
  readonly help: string;
}

const flags = {
  kubeconfig: {
    schema: z.string(),
    fallback: "",
    help: "Path of a kubeconfig. Without it: the Pod's own account, else the default kubeconfig.",
  },
  namespaces: {
    schema: names,
    fallback: "",
    help: "Namespaces to work in, separated by commas. Empty: all of them.",
  },
  "cluster-connections": {
    schema: z.enum(["auto", "true", "false"], "must be auto, true or false"),
    fallback: "auto",
    help: "Whether to serve ClusterConnections, which requires cluster-wide permissions. auto: only without --namespaces.",
  },
  "read-only": {
    schema: toggle,
    fallback: "false",
    help: "Whether to only plan: nothing changes in the console or in a Secret, status.plan of each object lists the planned changes, and quotas are exported.",
  },
  selector: {
    schema: z
      .string()
      .refine((text) => parseLabelSelector(text) !== undefined, "must be like team=a,tier!=test"),
    fallback: "",
    help: "Only work on objects with these labels, and on what refers to a ServiceAccount with them; operators with disjoint selectors share the work.",
  },
  "cluster-name": {
    schema: z
      .string()
      .regex(
        /^([a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?)?$/,
        "must have at most 63 lower-case letters, digits, '-' and '.', such as prod-eu",
      )
      .transform((text) => text || undefined),
    fallback: "",
    help: "Name of this cluster in the descriptions of accounts and keys, to tell whose they are if several clusters share an organization.",
  },
  "leader-elect": {
    schema: toggle,
    fallback: "true",
    help: "Whether only the holder of a Lease works.",
  },
  "operator-namespace": {
    schema: z.string().min(1, "must name a namespace"),
    fallback: "iam-operator-system",
    help: "Namespace of the Lease and of the Secrets and ConfigMaps of ClusterConnections.",
  },
  concurrency: {
    schema: wholeNumber(1, 256),
    fallback: "16",
    help: "How many ApiKeys are reconciled at once; of other kinds a quarter of it. One connection or namespace gets half of them at most.",
  },
  "secret-check-interval": {
    schema: duration.refine((ms) => ms >= 5_000, "must be at least 5s"),
    fallback: "5m",
    help: "How often an unwatched Secret is compared with its declared content.",
  },
  "watch-secrets": {
    schema: z.enum(["auto", "true", "false"], "must be auto, true or false"),
    fallback: "auto",
    help: "Whether to watch the operator's Secrets, as metadata. Requires the permissions to list and watch Secrets, which include reading them. auto: if they are granted.",
  },
  "connection-networks": {
    schema: names.refine(
      (networks) => networks.every((network) => parseNetwork(network) !== undefined),
      "must be IP addresses or networks such as 10.20.0.0/16, separated by commas",
    ),
    fallback: "",
    help: "The only networks that namespaced Connections can reach, in CIDR notation and separated by commas. Empty: all. Loopback, link-local and metadata addresses and the API server's are refused unless a network at least as narrow includes them, such as 127.0.0.0/8.",
  },
  "quota-series-per-export": {
    schema: wholeNumber(0, 1_000_000),
    fallback: "5000",
    help: "Metric series that one ResourceQuotaExport can have; a series with more than 256 characters of labels counts as several. Quotas beyond the limit are not exported.",
  },
  "quota-series": {
    schema: wholeNumber(0, 10_000_000),
    fallback: "50000",
    help: "Metric series that all ResourceQuotaExports together can have.",
  },
  consumers: {
    schema: z.enum(["none", "count", "restart"], "must be none, count or restart"),
    fallback: "none",
    help: "Pods that use the Secrets: none ignores them, count counts the Pods with an older version, restart also restarts workloads. Requires permissions.",
  },
  "metrics-address": {
    schema: address,
    fallback: ":8080",
    help: "Where /metrics is served; 0 switches it off.",
  },
  "metrics-secure": {
    schema: toggle,
    fallback: "false",
    help: "Whether /metrics is served over HTTPS, only to users with the permission to get it.",
  },
  "metrics-certificate": {
    schema: z.string(),
    fallback: "",
    help: "With --metrics-secure: folder with tls.crt and tls.key, read again as they change. Empty: a self-signed certificate.",
  },
  "probe-address": {
    schema: address,
    fallback: ":8081",
    help: "Where /healthz and /readyz are served; 0 switches them off.",
  },
  "shutdown-grace": {
    schema: duration,
    fallback: "25s",
    help: "How long a stop waits for calls in progress; below the Pod's grace period.",
  },
  "log-level": {
    schema: z.enum(["debug", "info", "warn", "error"], "must be debug, info, warn or error"),
    fallback: "info",
    help: "The least important lines to print.",
  },
  "log-format": {
    schema: z.enum(["json", "pretty"], "must be json or pretty"),
    fallback: "json",
    help: "How lines are printed.",
  },
} as const satisfies Readonly<Record<string, Flag>>;

type Flags = typeof flags;
export type Config = {
  readonly [Name in keyof Flags as CamelCase<Name>]: z.output<Flags[Name]["schema"]>;
} & {
  /** Name of the Pod or the host. */
  readonly instance: string;
  /** The API server's address from the Pod's environment. */
  readonly podServer: { readonly host: string; readonly port: string } | undefined;
  /** HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in upper or lower case. */
  readonly proxy: ProxyEnvironment;
  /** Settings from OpenTelemetry's standard variables; `undefined`: no traces. */
  readonly traces: TracesConfig | undefined;
};
interface TracesConfig {
  readonly sampler: { readonly name: Sampler; readonly ratio: number };
}
/** Every trace begins in the operator, so a parent's decision does not apply. */
const samplers = ["always_on", "always_off", "traceidratio"] as const;
type Sampler = (typeof samplers)[number];
type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

/** The problems of flags and variables, one per line. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

type Command =
  | { readonly kind: "Run"; readonly config: Config }
  | { readonly kind: "Help"; readonly text: string }
  | { readonly kind: "Version" };

/** Reads `--flag value` and `IAM_OPERATOR_FLAG`; flags win. Throws ConfigError. */
export function readCommand(
  args: readonly string[],
  environment: Environment = process.env,
): Command {
  const given = readArguments(args);
  if (given.help === true) return { kind: "Help", text: helpText() };
  if (given.version === true) return { kind: "Version" };
  const problems: string[] = [];
  const entries = Object.entries(flags).map(([name, { schema, fallback }]) => {
    const variable = variableOf(name);
    const flag = ownEntry(given, name);
    const text = typeof flag === "string" ? flag : (ownEntry(environment, variable) ?? fallback);
    const parsed = schema.safeParse(text);
    if (!parsed.success) {
      const source = typeof flag === "string" ? `--${name}` : variable;
      problems.push(`${source}: ${parsed.error.issues[0]?.message ?? "is not valid"}`);
    }
    return [toCamelCase(name), parsed.data];
  });
  const traces = tracesOf(environment, problems);
  const proxy = proxyOf(environment, problems);
  if (problems.length > 0) throw new ConfigError(problems.join("\n"));
  const instance = environment.POD_NAME ?? hostname();
  return {
    kind: "Run",
    config: {
      ...Object.fromEntries(entries),
      instance,
      podServer: podServerOf(environment),
      proxy,
      traces,
    } as Config,
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Decides whether there is an exporter and what it receives; the exporter reads its own settings. */
function tracesOf(environment: Environment, problems: string[]): Config["traces"] {
  const variable = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"].find(
    (name) => (ownEntry(environment, name) ?? "") !== "",
  );
  const isOff =
    environment.OTEL_SDK_DISABLED === "true" || environment.OTEL_TRACES_EXPORTER === "none";
  if (variable === undefined || isOff) return undefined;
  if (!/^https?:\/\/[^/]/.test(ownEntry(environment, variable) ?? ""))
    problems.push(`${variable}: must be a URL such as http://collector:4318`);
  const ratio = Number(environment.OTEL_TRACES_SAMPLER_ARG || 1);
  if (!(ratio >= 0 && ratio <= 1)) problems.push("OTEL_TRACES_SAMPLER_ARG: must be from 0 to 1");
  return { sampler: { name: samplerOf(environment, problems), ratio } };
}

function samplerOf(environment: Environment, problems: string[]): Sampler {
  const name = environment.OTEL_TRACES_SAMPLER || "always_on";
  const known = samplers.find((sampler) => name.replace(/^parentbased_/, "") === sampler);
  if (known === undefined)
    problems.push(
      `OTEL_TRACES_SAMPLER: must be ${samplers.join(", ")}, or such a name after parentbased_`,
    );
  return known ?? "always_on";
}

function proxyOf(environment: Environment, problems: string[]): ProxyEnvironment {
  const proxy = readProxyEnvironment(environment);
  for (const [name, value] of [
    ["HTTPS_PROXY", proxy.https],
    ["HTTP_PROXY", proxy.http],
  ] as const)
    if (value !== "" && !/^https?:\/\/[^/]/.test(value))
      problems.push(`${name}: must be a URL such as http://proxy.example.com:3128`);
  return proxy;
}

function podServerOf(environment: Environment): Config["podServer"] {
  const host = environment["KUBERNETES_SERVICE_HOST"];
  const port = environment["KUBERNETES_SERVICE_PORT"];
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** Flags that do not require a value. */
const toggles: readonly string[] = Object.entries(flags)
  .filter(([, { schema }]) => schema === toggle)
  .map(([name]) => `--${name}`);

function readArguments(
  args: readonly string[],
): Readonly<Record<string, string | boolean | undefined>> {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: "string" }] as const),
  );
  try {
    return parseArgs({
      args: args.map((arg, index) =>
        toggles.includes(arg) && !/^(true|false)$/.test(args[index + 1] ?? "")
          ? `${arg}=true`
          : arg,
      ),
      options: { ...options, help: { type: "boolean", short: "h" }, version: { type: "boolean" } },
      allowPositionals: false,
    }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "the arguments cannot be read";
    throw new ConfigError(`${reason}\nRun iam-operator --help for the flags there are.`);
  }
}

/** For --help and the reference page. */
export function flagHelp() {
  return Object.entries(flags).map(([name, { fallback, help }]) => ({ name, fallback, help }));
}

function helpText(): string {
  const lines = flagHelp().map(
    ({ name, fallback, help }) =>
      `  --${name.padEnd(24)} ${help}${fallback === "" ? "" : ` (default ${fallback})`}`,
  );
  return [
    "iam-operator: service accounts, API keys and policy bindings of an IAM console.",
    "",
    "Every flag can also be set as a variable, such as IAM_OPERATOR_LOG_LEVEL.",
    "Traces are sent to OTEL_EXPORTER_OTLP_ENDPOINT, if it is set.",
    "",
    ...lines,
    `  ${"--version".padEnd(26)} Print the version.`,
  ].join("\n");
}

function variableOf(flag: string): string {
  return `IAM_OPERATOR_${flag.replaceAll("-", "_").toUpperCase()}`;
}

function toCamelCase(flag: string): string {
  return flag.replace(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
