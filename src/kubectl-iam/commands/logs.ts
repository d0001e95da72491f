/** `logs`: prints the logs of the operator's Pods, all lines or the lines about one object. */
import { SECOND } from "../../util/time.ts";
import type { Invocation } from "../cli/command.ts";
import { Failure } from "../cli/errors.ts";
import { type Cluster, openCluster } from "../cluster/cluster.ts";
import type { ObjectName } from "../cluster/kinds.ts";
import {
  type OperatorPod,
  operatorNamespace,
  operatorPods,
  readFromPod,
} from "../cluster/operator.ts";
import { parseNames, resolveNames } from "../cluster/resolve.ts";
import { clean } from "../view/screen.ts";

const DEFAULT_LINES = 1_000;
const LEVELS = ["debug", "info", "warn", "error"] as const;

interface Line {
  readonly time?: unknown;
  readonly level?: unknown;
  readonly controller?: unknown;
  readonly namespace?: unknown;
  readonly name?: unknown;
}

export async function run(invocation: Invocation): Promise<void> {
  const { io, options, args } = invocation;
  const given = parseNames(args);
  await using cluster = await openCluster(io, options);
  const [object] = await resolveNames(cluster, given);
  const home = operatorNamespace(options);
  const pods = await operatorPods(cluster, home);
  if (pods.length === 0)
    throw new Failure(
      `No Pods of the operator in ${home}; --operator-namespace names another namespace.`,
    );
  const texts = await Promise.all(pods.map((pod) => readLog(invocation, cluster, pod)));
  const lines = texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => line !== "")
    .map((text) => ({ text, line: parseLine(text) }))
    .filter(
      ({ line }) => isAbout(line, object, cluster.namespace) && isImportant(line, options.level),
    );
  // Merges the lines of several replicas in the order of their times.
  const ordered = lines.toSorted((a, b) => timeOf(a.line).localeCompare(timeOf(b.line)));
  for (const { text } of ordered) io.print(clean(text));
  if (ordered.length === 0) io.note("No matching lines; --since and --tail look further back.");
}

/** Rejects with Failure if the API server does not return the log. */
async function readLog(
  { options }: Invocation,
  cluster: Cluster,
  pod: OperatorPod,
): Promise<string> {
  const { since, tail = DEFAULT_LINES, previous } = options;
  const query = new URLSearchParams({
    tailLines: String(tail),
    ...(since === undefined ? {} : { sinceSeconds: String(Math.ceil(since / SECOND)) }),
    ...(previous ? { previous: "true" } : {}),
  });
  const { status, text } = await readFromPod(cluster, pod, `/log?${query}`);
  if (status === 200) return text;
  const { name, namespace } = pod.metadata;
  throw new Failure(
    `the log of pod/${name} in ${namespace} cannot be read (status ${status}): ${text}`,
  );
}

function parseLine(text: string): Line {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null ? parsed : {};
  } catch {
    // Not JSON: lines of --log-format=pretty, and messages of Node itself.
    return {};
  }
}

/** Policies are reconciled under the name of their account. */
function isAbout(line: Line, object: ObjectName | undefined, namespace: string): boolean {
  if (object === undefined) return true;
  const isHere = object.kind === "ClusterConnection" || line.namespace === namespace;
  return isHere && line.controller === object.kind && line.name === object.name;
}

function isImportant({ level }: Line, least: (typeof LEVELS)[number] | undefined): boolean {
  return least === undefined || LEVELS.indexOf(level as "info") >= LEVELS.indexOf(least);
}

function timeOf({ time }: Line): string {
  return typeof time === "string" ? time : "";
}
