/** Every option, defined once: an option means the same for all commands. */

import { ownEntry } from "../../util/own-entry.ts";
import { DAY, HOUR, MINUTE, SECOND } from "../../util/time.ts";
import { UsageError } from "./errors.ts";

type OutputFormat = "table" | "wide" | "json" | "yaml" | "name" | `jsonpath=${string}`;

type DryRun = "client" | "server";

type Level = "debug" | "info" | "warn" | "error";

interface OptionSpec<Value> {
  readonly flags: string;
  readonly help: string;
  /** Reads the value; throws UsageError. Absent for flags without a value. */
  readonly read?: (text: string, before: Value | undefined) => Value;
  /** The values that completion offers. */
  readonly choices?: readonly string[];
  /** Completion offers the names of these objects. */
  readonly completes?: "namespace";
}

const flag = (flags: string, help: string): OptionSpec<boolean> => ({ flags, help });
const text = (flags: string, help: string): OptionSpec<string> => ({
  flags,
  help,
  read: (value) => value,
});
const list = (flags: string, help: string): OptionSpec<readonly string[]> => ({
  flags,
  help,
  read: (value, before = []) => [...before, ...value.split(",").filter((part) => part !== "")],
});
const span = (flags: string, help: string): OptionSpec<number> => ({
  flags,
  help,
  read: (value) => parseSpan(flags, value),
});
const count = (flags: string, help: string): OptionSpec<number> => ({
  flags,
  help,
  read: (value) => {
    if (/^[1-9][0-9]{0,8}$/.test(value)) return Number(value);
    throw new UsageError(
      `${nameOf(flags)} must be a whole number from 1, such as 7; it is "${value}"`,
    );
  },
});

/** One of these values, or one that `isOther` accepts; `words` say which in the message. */
const choice = <Value extends string>(
  flags: string,
  help: string,
  choices: readonly Value[],
  words: string = choices.join(", ").replace(/, (?=[^,]*$)/, " or "),
  isOther: (value: string) => boolean = () => false,
): OptionSpec<Value> => ({
  flags,
  help,
  choices,
  read: (value) => {
    const known = choices.find((each) => each === value);
    if (known !== undefined) return known;
    if (isOther(value)) return value as Value;
    throw new UsageError(`${nameOf(flags)} must be ${words}; it is "${value}"`);
  },
});

export const options = {
  context: text("--context <name>", "The kubeconfig's context to use."),
  kubeconfig: text(
    "--kubeconfig <file>",
    "The kubeconfig to use; default KUBECONFIG or ~/.kube/config.",
  ),
  namespace: {
    ...text("-n, --namespace <name>", "The namespace; defaults to the namespace of the context."),
    completes: "namespace",
  },
  as: text("--as <user>", "Act as this user or serviceaccount, as kubectl does."),
  asGroup: list("--as-group <group>", "With --as: the groups to act with."),
  allNamespaces: flag("-A, --all-namespaces", "All namespaces."),
  tenantLogins: flag(
    "--tenant-logins",
    "With -A: also connect to the consoles of Connections from this machine, and log in; tenants choose these addresses.",
  ),
  selector: text(
    "-l, --selector <labels>",
    "Only objects with these labels, such as team=a,tier!=test.",
  ),
  output: choice<OutputFormat>(
    "-o, --output <format>",
    "table, wide, json, yaml, name or jsonpath=TEMPLATE.",
    ["table", "wide", "json", "yaml", "name"],
    "table, wide, json, yaml, name or jsonpath=TEMPLATE",
    (value) => value.startsWith("jsonpath="),
  ),
  operatorNamespace: text(
    "--operator-namespace <name>",
    "The operator's own namespace; default iam-operator-system.",
  ),
  operatorUser: text(
    "--operator-user <user>",
    "User whose permissions are checked; defaults to the ServiceAccount of the operator's Deployment.",
  ),
  within: span("--within <time>", "How far to look ahead, such as 14d or 36h; default 14d."),
  top: count("--top <count>", "Show only this many, the fullest first."),
  client: flag("--client", "Only the plugin's own version."),
  previous: flag("-p, --previous", "Of the containers that ended before."),
  since: span("--since <time>", "Only lines of this period, such as 10m."),
  tail: count("--tail <lines>", "The last lines of each Pod; default 1000."),
  level: choice<Level>(
    "--level <level>",
    "Only lines of this level and above: debug, info, warn or error.",
    ["debug", "info", "warn", "error"],
  ),
  account: text("--account <name>", "The ServiceAccount that it is for."),
  secretName: text("--secret-name <name>", "The Secret to write; default the ApiKey's name."),
  credentials: text("--credentials <secret>", "The Secret with username, password and domain."),
  export: flag("--export", "Print manifests instead of changing the cluster."),
  overlap: span(
    "--overlap <time>",
    "How long the old keys keep their permissions at most, such as 30m; default spec.rotation.overlap of each ApiKey.",
  ),
  now: flag(
    "--now",
    "A key leaked: do not wait for the overlap, nor for rotation windows and daily limits of ApiKeys.",
  ),
  withForeign: flag(
    "--with-foreign",
    "Declare policies that were bound outside the operator in a PolicyBinding of the successor.",
  ),
  withoutForeign: flag(
    "--without-foreign",
    "Leave out policies that were bound outside the operator.",
  ),
  all: flag("--all", "Every object of the namespace, or with -A of all namespaces."),
  for: text("--for <kind/name>", "Only events about this object, such as iamkey/ci-bot-key."),
  watch: flag("-w, --watch", "Print the table again every two seconds."),
  wait: flag("--no-wait", "Return as soon as the change is requested."),
  timeout: span("--timeout <time>", "How long to wait at most, such as 5m; default 10m."),
  dryRun: choice<DryRun>(
    "--dry-run <how>",
    "client (or no value): print the request. server: validate it on the API server. Nothing is changed.",
    ["client", "server"],
  ),
  /** For calls to the console, which has no dry run. */
  printOnly: choice<"client">(
    "--dry-run <how>",
    "client (or no value): print the request, and change nothing.",
    ["client"],
    "client, since the console does not support dry runs",
  ),
  yes: flag("-y, --yes", "Do not ask for confirmation."),
  name: text("--name <name>", "The object's name; by default made from the account's name."),
  connection: text(
    "--connection <kind/name>",
    "The connection, such as iamcconn/default or iamconn/own; a name alone is the namespace's Connection if it exists.",
  ),
  fromSecret: text(
    "--from-secret <name>",
    "Use the key in this Secret, which the operator has written.",
  ),
  baseUrl: text("--base-url <url>", "The console's address; or IAM_CONSOLE_URL."),
  orgId: text("--org-id <id>", "The organization; or IAM_CONSOLE_ORG_ID."),
  projectId: text("--project-id <id>", "The project; or IAM_CONSOLE_PROJECT_ID."),
  domainName: text("--domain-name <name>", "The organization's name; or IAM_CONSOLE_DOMAIN_NAME."),
  partitionId: text("--partition-id <id>", "The partition; or IAM_CONSOLE_PARTITION_ID."),
  insecureHttp: flag(
    "--insecure-http",
    "Allow a plain http:// address. Credentials then travel unencrypted.",
  ),
  caFile: text(
    "--ca-file <file>",
    "PEM certificates to trust in addition to the system's; or IAM_CONSOLE_CA_FILE.",
  ),
  username: text("--username <name>", "Log in as this user; or IAM_CONSOLE_USERNAME."),
  loginDomain: text("--login-domain <name>", "The user's domain; or IAM_CONSOLE_LOGIN_DOMAIN."),
  passwordFile: text(
    "--password-file <file>",
    "The file with the password, - for standard input; or IAM_CONSOLE_PASSWORD, or a prompt.",
  ),
  tokenFile: text(
    "--token-file <file>",
    "The file with a user token, - for standard input; or IAM_CONSOLE_TOKEN.",
  ),
  keyId: text("--key-id <id>", "Call with this API key; or IAM_CONSOLE_KEY_ID."),
  keySecretFile: text(
    "--key-secret-file <file>",
    "The file with the key's secret, - for standard input; or IAM_CONSOLE_KEY_SECRET, or a prompt.",
  ),
  reveal: flag("--reveal", "Show secrets and tokens."),
  secretFile: text(
    "--secret-file <file>",
    "Write the new key's secret to this new file, for its owner only.",
  ),
  filename: list(
    "-f, --filename <file>",
    "A file with objects, a folder of such files, or - for standard input; repeatable.",
  ),
  withoutSecrets: flag("--without-secrets", "Leave out all Secrets."),
  kustomize: text("-k, --kustomize <folder>", "A folder for kubectl kustomize."),
  body: text("--body <file>", "The request's JSON body: a file, or - for standard input."),
  description: text("--description <text>", "The description in the console."),
  expiresInDays: count("--expires-in-days <days>", "The key's lifetime; default 90."),
  policy: list("--policy <id>", "A policy; repeatable, or a comma-separated list."),
  none: flag("--none", "Bind no policy at all."),
  search: text("--search <text>", "Search text."),
  policyStatus: text("--status <status>", "Only policies of this status, such as active."),
  actionClass: text("--action-class <class>", "Only List, Read, Write, Delete or Admin actions."),
  clusterId: count("--cluster-id <number>", "The container cluster's number in the console."),
  quotaNamespace: list("--quota-namespace <name>", "Only quotas of these namespaces."),
  quotaName: list("--quota-name <text>", "Only quotas whose name contains this."),
  action: text("--action <id>", "The denied action, such as svc:Compute.Instances.ListInstances."),
} as const satisfies Readonly<Record<string, object>>;

export type OptionName = keyof typeof options;
type ValueOf<Spec> = Spec extends OptionSpec<infer Value> ? Value : never;
export type Options = { readonly [Name in OptionName]?: ValueOf<(typeof options)[Name]> };

/** Returns `--namespace` for `-n, --namespace <name>`. */
export function nameOf(flags: string): string {
  return /--[-a-z]+/.exec(flags)?.[0] ?? flags;
}

const UNITS: Readonly<Record<string, number>> = { d: DAY, h: HOUR, m: MINUTE, s: SECOND };

function parseSpan(flags: string, value: string): number {
  if (!/^([0-9]{1,6}[dhms])+$/.test(value))
    throw new UsageError(
      `${nameOf(flags)} must be a time such as 14d, 36h or 5m; it is "${value}"`,
    );
  return [...value.matchAll(/([0-9]+)([dhms])/g)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * (ownEntry(UNITS, unit ?? "") ?? 0),
    0,
  );
}

/** The cluster, the namespace and the user: for commands that talk to a cluster. */
export const clusterOptions = ["context", "kubeconfig", "namespace", "as", "asGroup"] as const;
/** For commands that read many objects. */
export const scopeOptions = [...clusterOptions, "allNamespaces", "selector"] as const;
/** For commands that change objects and wait for the operator. */
export const waitOptions = ["dryRun", "wait", "timeout", "operatorNamespace"] as const;
/** The console and the user. */
export const consoleOptions = [
  ...clusterOptions,
  "operatorNamespace",
  "connection",
  "fromSecret",
  "baseUrl",
  "orgId",
  "projectId",
  "domainName",
  "partitionId",
  "insecureHttp",
  "caFile",
  "username",
  "loginDomain",
  "passwordFile",
  "tokenFile",
  "keyId",
  "keySecretFile",
  "output",
] as const;
