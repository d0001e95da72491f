/** Follows events as they arrive. */
import { isKubeError, KubeError } from "../../kube/errors.ts";
import { type ClusterEvent, eventType } from "../../kube/resource-types.ts";
import { splitLines } from "../../kube/watch/lines.ts";
import { openWatch } from "../../kube/watch/watch-stream.ts";
import { SECOND } from "../../util/time.ts";
import type { Cluster } from "./cluster.ts";
import { type IamEvent, toIamEvent } from "./events.ts";

const MAX_LINE_BYTES = 2 ** 21;
const WATCH_SECONDS = 300;
const HEAD_MS = 10 * SECOND;
const PAUSE_MS = SECOND;

/** Every event from now on, until the signal is aborted. Restarts a watch that ends. Rejects with KubeError. */
export async function* followEvents(
  cluster: Cluster,
  namespace: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<IamEvent> {
  let version = await currentVersion(cluster, namespace);
  const notice = (seen: string) => {
    version = seen;
  };
  while (!signal.aborted)
    try {
      yield* eventsFrom(watchOnce(cluster, namespace, version, signal), notice);
    } catch (error) {
      if (signal.aborted) return;
      version = await resumeFrom(error, version, cluster, namespace);
      await cluster.api.clock.sleep(PAUSE_MS, signal).catch(() => undefined);
    }
}

async function* eventsFrom(
  lines: AsyncIterable<WatchLine>,
  notice: (version: string) => void,
): AsyncGenerator<IamEvent> {
  for await (const { type, object } of lines) {
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined) notice(resourceVersion);
    const event = type === "DELETED" ? undefined : toIamEvent(object);
    if (event !== undefined) yield event;
  }
}

/**
 * The version at which to resume after a failure. If that version is too old, the events in between are only in the
 * plain list.
 */
async function resumeFrom(
  error: unknown,
  version: string,
  cluster: Cluster,
  namespace: string | undefined,
): Promise<string> {
  if (isKubeError(error, "Forbidden")) throw error;
  return isKubeError(error, "Gone") ? currentVersion(cluster, namespace) : version;
}

interface WatchLine {
  readonly type: string;
  readonly object: ClusterEvent;
}

async function* watchOnce(
  { api, transport }: Cluster,
  namespace: string | undefined,
  version: string,
  signal: AbortSignal,
): AsyncGenerator<WatchLine> {
  const body = await openWatch({ ...api, openStream: transport.openStream }, eventType, {
    selection: { namespace },
    version,
    timeoutSeconds: WATCH_SECONDS,
    headTimeoutMs: HEAD_MS,
    signal,
  });
  for await (const line of splitLines(body, MAX_LINE_BYTES)) {
    const parsed = JSON.parse(line) as WatchLine;
    if (parsed.type === "ERROR") throw new KubeError("Gone", "the watch is too old");
    yield parsed;
  }
}

async function currentVersion({ call }: Cluster, namespace: string | undefined): Promise<string> {
  const within = namespace === undefined ? "" : `/namespaces/${namespace}`;
  const { metadata } = await call({
    attempted: "list events",
    method: "GET",
    path: `/apis/events.k8s.io/v1${within}/events`,
    query: { limit: 1 },
  });
  return (metadata as { readonly resourceVersion: string }).resourceVersion;
}
